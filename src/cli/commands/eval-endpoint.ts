import type { AskedAddresses } from '../../client/check-endpoint';
import { addresseesOf, refuseUselessAddresses as refuseAddresses } from '../../client/check-endpoint';
import type { EvaluateOptions } from '../../client/evaluate-options';
import { readEnvironment } from '../../config/environment';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { openForReading } from '../connect';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';

interface AskedEndpoint {
  readonly benchmarks: readonly string[];
  readonly options: EvaluateOptions;
  readonly flags: PlaceFlags;
}

/** The same for the endpoint and the judges of an evaluation. */
export async function refuseUselessEndpoint(asked: AskedEndpoint, output: Output): Promise<void> {
  const { options, flags } = asked;
  const addressees = addresseesOf(options);
  await refuseUselessAddresses({ addressees, flags, isBegun: () => hasAnswers(asked) }, output);
}

/** Before a stack is started for them; what is no reason to refuse is printed. */
export async function refuseUselessAddresses(
  { flags, ...asked }: AskedAddresses & { readonly flags: PlaceFlags },
  output: Output,
): Promise<void> {
  const environment = readEnvironment(flags);
  const note = (text: string): void => {
    output.note(text);
  };
  const workers = resolveTemporal(environment.dataFolder).from;
  await refuseAddresses(asked, { workers, keys: environment, note });
}

async function hasAnswers({ benchmarks, options, flags }: AskedEndpoint): Promise<boolean> {
  const session = await openForReading(flags);
  try {
    return await session.everstep.hasAnswers(benchmarks, options);
  } finally {
    await session.close();
  }
}
