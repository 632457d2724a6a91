import type { EndpointProblem } from '../../client/check-endpoint';
import { checkEndpoint } from '../../client/check-endpoint';
import type { EvaluateOptions } from '../../client/everstep';
import type { Environment } from '../../config/environment';
import { readEnvironment } from '../../config/environment';
import type { JudgesInput } from '../../config/judge-config';
import { parseJudges } from '../../config/judge-config';
import { DomainError } from '../../core/errors';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { openForReading } from '../connect';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';

interface AskedEndpoint {
  readonly benchmarks: readonly string[];
  readonly options: EvaluateOptions;
  readonly flags: PlaceFlags;
}

/** An address that a command will ask. */
export interface Addressee {
  readonly url: string;
  readonly model: string;
  readonly isJudge: boolean;
}

export interface AskedAddresses {
  readonly addressees: readonly Addressee[];
  readonly flags: PlaceFlags;
  /** Whether there is something already that waits for who has gone away. */
  readonly isBegun: () => Promise<boolean>;
  /** What the command did not do; `Nothing was started`. */
  readonly undone?: string;
  /** What comes of one that is away and not refused; `The evaluation waits for it.` */
  readonly waits?: string;
}

/** The same for the endpoint and the judges of an evaluation. */
export async function refuseUselessEndpoint(asked: AskedEndpoint, output: Output): Promise<void> {
  const { options, flags } = asked;
  const addressees = addresseesOf(options);
  await refuseUselessAddresses({ addressees, flags, isBegun: () => hasAnswers(asked) }, output);
}

/** Who is asked at an endpoint: the model, and those that judge. */
export function addresseesOf({
  endpoint,
  model,
  judge,
}: Pick<EvaluateOptions, 'endpoint' | 'model' | 'judge'>): Addressee[] {
  const judges = judge === undefined ? [] : judgesAtEndpoints(judge, endpoint);
  if (endpoint === undefined || model === undefined) return judges;
  return [{ url: endpoint, model, isJudge: false }, ...judges];
}

/** Judges without a place are asked where the model is. Several may be one model with several votes. */
export function judgesAtEndpoints(judge: JudgesInput, endpoint?: string): Addressee[] {
  const found = parseJudges(judge).flatMap((each) => {
    const hasPlace = each.checkpoint !== undefined || each.engine !== undefined;
    const url = each.endpoint ?? (hasPlace ? undefined : endpoint);
    return url === undefined || each.model === undefined ? [] : [{ url, model: each.model, isJudge: true }];
  });
  return [...new Map(found.map((each) => [JSON.stringify(each), each])).values()];
}

/**
 * Refuses an address that cannot answer before anything is started. What workers elsewhere may reach, or with another key, is only
 * remarked; so is one that has gone away from work that was begun, which waits for it.
 */
export async function refuseUselessAddresses(asked: AskedAddresses, output: Output): Promise<void> {
  for (const addressee of asked.addressees) await refuseUseless(addressee, asked, output);
}

async function refuseUseless(addressee: Addressee, asked: AskedAddresses, output: Output): Promise<void> {
  const environment = readEnvironment(asked.flags);
  const problem = await problemOf(addressee, environment);
  if (problem === null) return;
  const { kind, message } = problem;
  const workers = resolveTemporal(environment.dataFolder).from;
  if (kind === 'mistake') throw new DomainError('refused', message);
  if (kind === 'unauthorized') {
    // A stack that is started for this command has its key and no other.
    if (workers === 'nothing') throw new DomainError('refused', message);
    output.note(`${message} The workers may have another key.`);
    return;
  }
  if (kind === 'away' && workers !== 'configuration' && !(await asked.isBegun())) {
    const { undone = 'Nothing was started' } = asked;
    throw new DomainError('refused', `${message} ${undone}: give the command again when it answers.`);
  }
  output.note(`${message} ${asked.waits ?? 'The evaluation waits for it.'}`);
}

async function problemOf(
  { url, model, isJudge }: Addressee,
  { openaiApiKey, judgeApiKey }: Pick<Environment, 'openaiApiKey' | 'judgeApiKey'>,
): Promise<EndpointProblem | null> {
  if (!isJudge) return checkEndpoint({ url, model, apiKey: openaiApiKey });
  const problem = await checkEndpoint({ url, model, apiKey: judgeApiKey ?? openaiApiKey });
  return problem && { ...problem, message: `judge: ${problem.message}` };
}

async function hasAnswers({ benchmarks, options, flags }: AskedEndpoint): Promise<boolean> {
  const session = await openForReading(flags);
  try {
    return await session.everstep.hasAnswers(benchmarks, options);
  } finally {
    await session.close();
  }
}
