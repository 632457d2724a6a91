import type { EngineSource, ModelSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import type { JudgeAccess } from '../evaluation/judges/judge-access';
import { checkEndpoint } from './check-endpoint';

type EndpointSource = Extract<ModelSource, { type: 'endpoint' }>;

const WITH_KEY = 'Judges are asked with EVERSTEP_JUDGE_API_KEY where it is set.';

/** Refuses an endpoint that cannot judge, by a call that costs nothing. One that is slow or fails for now passes. */
export async function checkJudgeEndpoint(
  { url, model }: EndpointSource,
  apiKey: string | undefined,
): Promise<void> {
  const problem = await checkEndpoint({ url, model, apiKey: apiKey ?? null });
  if (problem === null || problem.kind === 'passing') return;
  const remedy = problem.kind === 'unauthorized' ? ` ${WITH_KEY}` : '';
  throw new DomainError('refused', `judge ${model}: ${problem.message}${remedy}`);
}

const PATIENCE_MS = 60_000;
const QUESTION = { role: 'user', content: '?' };

/** Refuses weights that cannot be sampled from: one token is drawn. A service that is only slow passes. */
export async function checkJudgeWeights(
  models: JudgeAccess['models'],
  source: EngineSource,
  given?: AbortSignal,
): Promise<void> {
  const signal = given ?? new AbortController().signal;
  try {
    const limits = { concurrency: 1, contextWindow: null, timeoutMs: PATIENCE_MS, signal };
    const { completer } = await models.open(source, limits);
    const params = { maxTokens: 1, temperature: 0, topP: 1, seed: 0 };
    try {
      await completer.complete({ messages: [QUESTION], params }, { signal, timeoutMs: PATIENCE_MS });
    } finally {
      await completer.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof DomainError)) throw error;
    if (error.code === 'timed-out') return;
    const remedy = 'Give a judge whose training service answers and has its weights.';
    const message = `judge ${source.label ?? source.model}: ${asSentence(error.message)} ${remedy}`;
    throw new DomainError('refused', message, { cause: error });
  }
}
