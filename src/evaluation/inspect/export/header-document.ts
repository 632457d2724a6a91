import { EVERSTEP_VERSION } from '../../../core/version';
import type { StoredResult } from '../../../stores/eval-store';
import type { TokenUsage } from './token-usage';

/** What the samples of a log come to. */
export interface LogTotals {
  readonly sampleIds: readonly string[];
  readonly epochs: number;
  readonly sampleCount: number;
  readonly scoredCount: number;
  /** Accuracy where every score is 0 or 1; a mean where they lie between; else what the benchmark makes of them. */
  readonly metric: 'accuracy' | 'mean' | 'score';
  readonly usage: TokenUsage;
}

export interface LogSubject {
  readonly result: StoredResult;
  readonly logId: string;
  readonly taskId: string;
  readonly runId: string;
  readonly evalRun: string;
  readonly model: string;
  readonly scorer: string;
  readonly createdAt: string;
  readonly completedAt: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Inspect's `EvalLog` without its samples. */
export function headerDocument(subject: LogSubject, totals: LogTotals) {
  const { result, model } = subject;
  return {
    version: 2,
    status: 'success',
    eval: specOf(subject, totals),
    plan: planOf(result),
    results: {
      total_samples: totals.sampleCount,
      completed_samples: totals.scoredCount,
      scores: [scoreOf(subject, totals)],
    },
    stats: {
      started_at: subject.createdAt,
      completed_at: subject.completedAt,
      model_usage: totals.usage.total_tokens > 0 ? { [model]: totals.usage } : {},
      role_usage: {},
    },
    invalidated: false,
  };
}

export function startDocument({ version, eval: spec, plan }: ReturnType<typeof headerDocument>) {
  return { version, eval: spec, plan };
}

function specOf(subject: LogSubject, { sampleIds, epochs }: LogTotals) {
  const { result, logId, runId, taskId, createdAt, evalRun, model, scorer, config } = subject;
  const { identity } = result;
  return {
    ...{ eval_id: logId, run_id: runId, created: createdAt },
    ...{ task: result.name, task_id: taskId, task_version: identity.benchmarkVersion },
    ...{ task_display_name: result.name, task_registry_name: `everstep/${result.name}` },
    task_args: {},
    dataset: {
      name: result.name,
      location: identity.dataHash,
      samples: sampleIds.length,
      sample_ids: sampleIds,
      shuffled: false,
    },
    model,
    model_args: { checkpoint: identity.checkpoint },
    model_generate_config: generateConfig(result),
    config: {
      epochs,
      epochs_reducer: ['mean'],
      fail_on_error: false,
      ...limitsOf(result),
    },
    packages: { everstep: EVERSTEP_VERSION },
    scorers: [{ name: scorer, options: {}, metrics: [], metadata: {} }],
    metadata: { everstep: { run: evalRun, identity, config } },
  };
}

function planOf(result: StoredResult) {
  const step = { solver: 'generate', params: {}, params_passed: {} };
  return { name: 'plan', steps: [step], config: generateConfig(result) };
}

/** How answers were drawn, by Inspect's names. */
export function generateConfig({ identity: { sampling } }: StoredResult): Record<string, number> {
  const names = { maxTokens: 'max_tokens', temperature: 'temperature', topP: 'top_p' };
  return Object.fromEntries(
    Object.entries(names).flatMap(([ours, theirs]) => {
      const value = sampling[ours];
      return typeof value === 'number' ? [[theirs, value] as const] : [];
    }),
  );
}

function limitsOf({ identity: { sampling } }: StoredResult) {
  const window = sampling['contextWindow'];
  return typeof window === 'number' ? { token_limit: window } : {};
}

/** Errors and answers that were cut off count 0 in the metric, as in `result.json`. */
function scoreOf(subject: LogSubject, totals: LogTotals) {
  const { result, scorer } = subject;
  const { sampleCount, scoredCount, epochs } = totals;
  const values = metricsOf(subject, totals);
  return {
    name: scorer,
    scorer,
    ...(epochs > 1 && { reducer: 'mean' }),
    scored_samples: scoredCount,
    unscored_samples: sampleCount - scoredCount,
    params: {},
    metrics: Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) =>
        value === null ? [] : [[name, { name, value, params: {} }] as const],
      ),
    ),
    metadata: {
      score_completed: result.score_completed,
      num_correct: result.num_correct,
      num_errors: result.num_errors,
      num_truncated: result.num_truncated,
    },
  };
}

function metricsOf(
  { result }: LogSubject,
  { metric, epochs }: LogTotals,
): Readonly<Record<string, number | null>> {
  // Of one sample it is the metric itself.
  const passes = Object.entries(epochs > 1 ? result.pass_at_k : {}).map(
    ([k, value]) => [/^\d+$/.test(k) ? `pass_at_${k}` : k, value] as const,
  );
  const own: Record<string, number | null> = {
    [metric]: result.score,
    stderr: result.stderr,
    ci_lower: result.ci?.[0] ?? null,
    ci_upper: result.ci?.[1] ?? null,
    ...Object.fromEntries(passes),
  };
  const others = Object.entries(result.metrics).filter(
    ([name]) => !Object.hasOwn(own, name) && name !== 'unscored',
  );
  return { ...own, ...Object.fromEntries(others) };
}
