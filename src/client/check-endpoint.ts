import { findFinishedEval } from './eval-handle';
import { readBenchmarkProgress } from './eval-progress';
import type { BenchmarkOptions } from '../config/benchmark-config';
import type { Environment } from '../config/environment';
import { readEnvironment } from '../config/environment';
import type { JudgesInput } from '../config/judge-config';
import { parseJudges } from '../config/judge-config';
import type { BenchmarkRequest } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { EndpointProblem } from '../training/check-endpoint';
import { checkEndpoint } from '../training/check-endpoint';
import type { ServerLink } from './server-link';

/** An address that will be asked. */
interface Addressee {
  readonly url: string;
  readonly model: string;
  readonly isJudge: boolean;
}

export interface AskedAddresses {
  readonly addressees: readonly Addressee[];
  /** Whether there is something already that waits for who has gone away. */
  readonly isBegun: () => Promise<boolean>;
  /** What was not done; `Nothing was started`. */
  readonly undone?: string;
  /** What comes of one that is away and not refused; `The evaluation waits for it.` */
  readonly waits?: string;
}

/** From where addresses are looked at. */
export interface AddressView {
  /** Who will ask: workers of a server that a person configured, those of the stack here, or of one that is started for this. */
  readonly workers: 'configuration' | 'stack' | 'nothing';
  readonly keys: Pick<Environment, 'openaiApiKey' | 'judgeApiKey'>;
  /** Tells what is no reason to refuse. */
  readonly note: (text: string) => void;
}

/** Looks at addresses before something that asks them is started; see `refuseUselessAddresses`. */
export type LookAtAddresses = (asked: AskedAddresses) => Promise<void>;

/** Who is asked at an endpoint: the model, and those that judge. */
export function addresseesOf({
  endpoint,
  model,
  judge,
}: Pick<BenchmarkOptions, 'endpoint' | 'model' | 'judge'>): Addressee[] {
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
export async function refuseUselessAddresses(asked: AskedAddresses, view: AddressView): Promise<void> {
  for (const addressee of asked.addressees) await refuseUseless(addressee, asked, view);
}

/** The same for programs, whose workers are those of the server at `link`; without one nothing can be started anyway. */
export function lookForPrograms(link: ServerLink, isOwnStack: () => boolean): LookAtAddresses {
  return async (asked) => {
    if (link.target === null) return;
    const workers = isOwnStack() ? 'stack' : 'configuration';
    await refuseUselessAddresses(asked, { workers, keys: readEnvironment(), note: () => undefined });
  };
}

/** Looks at who an evaluation asks, unless its results are there: then nobody is asked. */
export async function lookAtEvaluation(
  requests: readonly BenchmarkRequest[],
  options: Pick<BenchmarkOptions, 'endpoint' | 'model' | 'judge'>,
  { link, look }: { readonly link: ServerLink; readonly look: LookAtAddresses },
): Promise<void> {
  const addressees = addresseesOf(options);
  if (addressees.length === 0 || (await findFinishedEval(link, requests)) !== null) return;
  await look({ addressees, isBegun: () => isEvaluationBegun(requests) });
}

/** Whether an evaluation got an answer, so that it has something to wait for. */
export async function isEvaluationBegun(requests: readonly BenchmarkRequest[]): Promise<boolean> {
  const all = await Promise.all(requests.map(readBenchmarkProgress));
  return all.some((progress) => (progress?.done ?? 0) > 0);
}

async function refuseUseless(
  addressee: Addressee,
  asked: AskedAddresses,
  { workers, keys, note }: AddressView,
): Promise<void> {
  const problem = await problemOf(addressee, keys);
  if (problem === null) return;
  const { kind, message } = problem;
  if (kind === 'mistake') throw new DomainError('refused', message);
  if (kind === 'unauthorized') {
    // A stack that is started for this has our key and no other.
    if (workers === 'nothing') throw new DomainError('refused', message);
    note(`${message} The workers may have another key.`);
    return;
  }
  if (kind === 'away' && workers !== 'configuration' && !(await asked.isBegun())) {
    const { undone = 'Nothing was started' } = asked;
    throw new DomainError('refused', `${message} ${undone}: try again when it answers.`);
  }
  note(`${message} ${asked.waits ?? 'The evaluation waits for it.'}`);
}

async function problemOf(
  { url, model, isJudge }: Addressee,
  { openaiApiKey, judgeApiKey }: AddressView['keys'],
): Promise<EndpointProblem | null> {
  if (!isJudge) return checkEndpoint({ url, model, apiKey: openaiApiKey });
  const problem = await checkEndpoint({ url, model, apiKey: judgeApiKey ?? openaiApiKey });
  return problem && { ...problem, message: `judge: ${problem.message}` };
}
