import { writeJson } from '../../stores/whole-file';
import type {
  BenchmarkPlace,
  BenchmarkRequest,
  InspectTask,
  PlannedBenchmark,
  ShardCounts,
  WaitingShard,
} from '../../core/benchmark-run';
import { NO_COUNTS } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import { GENERATION } from '../benchmarks/benchmark';
import { digestOf } from '../digest';
import type { BenchmarkPlan } from '../runner/benchmark-plan';
import { findPlan, nextStart, progressPath, resultFolder, writePlan } from '../runner/benchmark-plan';
import { describeEvalRun } from '../runner/eval-run-files';
import type { ModelAccess } from '../runner/open-model';
import { refuseOtherIdentity } from '../runner/refuse-other-identity';
import { summaryOf } from '../runner/summary-of';
import { evaluateTasks, identityOfTask } from './evaluate-tasks';
import { checkTask } from './run/check-task';
import type { InspectAccess } from './run/inspect-access';
import type { InspectSettings } from './run/inspect-words';
import { packageVersionOf } from './run/package-version';
import { SampleProgress } from './sample-progress';

interface InspectPlanDependencies {
  readonly models: Pick<ModelAccess, 'promptFormat'>;
  readonly inspect?: InspectAccess;
  readonly now: () => Date;
}

type InspectFacts = Omit<InspectPlanDependencies, 'inspect'> & {
  readonly inspect?: Pick<InspectAccess, 'cacheFolder'>;
};

interface InspectShardDependencies extends Pick<InspectPlanDependencies, 'now'> {
  readonly models: Pick<ModelAccess, 'open'>;
  readonly inspect?: InspectAccess;
}

interface InspectAttempt {
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly onProgress: (counts: ShardCounts | WaitingShard) => void;
}

/** Of the field, as those of the evaluator. */
const DEFAULTS = { temperature: 1, maxTokens: 1000, topP: 1, timeoutSeconds: 14_400 } as const;

/** Fixes how a task of Inspect AI is asked: one shard, which is Inspect's own work. */
export async function planInspect(
  dependencies: InspectPlanDependencies,
  task: InspectTask,
  request: BenchmarkRequest,
): Promise<PlannedBenchmark> {
  const plan = await describeInspect(dependencies, task, request);
  const place = plan.request;
  const before = await findPlan(place);
  if (before) refuseOtherIdentity(place, before, plan);
  const result = before && (await loadResult(place.folder, plan.benchmark));
  const starts = await nextStart(place, before, dependencies.now());
  if (before && result) {
    return { name: plan.benchmark, starts: before.starts, pendingShards: [], finished: summaryOf(result) };
  }
  if (!before && dependencies.inspect) await checkTask(dependencies.inspect, task);
  await describeEvalRun(place, plan.startedAt);
  await writePlan(place, { ...plan, starts });
  return { name: plan.benchmark, starts, pendingShards: [0], finished: null };
}

/** What a result of this request would be made of. Asks neither the model nor Inspect. */
export async function identifyInspect(
  dependencies: Pick<InspectFacts, 'models' | 'inspect'>,
  task: InspectTask,
  request: BenchmarkRequest,
): Promise<Pick<BenchmarkPlan, 'benchmark' | 'identity'>> {
  const known = { ...dependencies, now: () => new Date() };
  const { benchmark, identity } = await describeInspect(known, task, request);
  return { benchmark, identity };
}

async function describeInspect(
  { models, inspect, now }: InspectFacts,
  task: InspectTask,
  request: BenchmarkRequest,
): Promise<BenchmarkPlan> {
  const { model } = request;
  refuseUnfit(task, request);
  const { benchmark } = request;
  const settings = settingsOf(request);
  const checkpoint = model.type === 'engine' ? (model.label ?? model.path ?? '') : '';
  const version = inspect ? await packageVersionOf(inspect.cacheFolder, task.task) : null;
  const asked = { task, version, promptFormat: models.promptFormat(model) };
  const identity = identityOfTask(asked, settings, { name: model.model, checkpoint, identity: '' });
  const weights = model.type === 'engine' ? (model.identity ?? model.path ?? '') : '';
  return {
    benchmark,
    request,
    identity,
    generation: { ...GENERATION, maxTokens: settings.maxTokens, temperature: settings.temperature },
    contextWindow: request.contextWindow ?? null,
    timeoutSeconds: settings.timeoutSeconds,
    numSamples: request.numSamples,
    systemPrompt: null,
    source: `Inspect AI: ${task.task}`,
    exampleCount: 0,
    shards: [{ exampleCount: 0, offset: 0, bytes: 0 }],
    base: digestOf([weights, model.model, identity.promptHash]),
    starts: 1,
    startedAt: now().toISOString(),
    secondsBefore: 0,
  };
}

function refuseUnfit({ task }: InspectTask, { model, systemPrompt, judges }: BenchmarkRequest): void {
  const what =
    model.type === 'endpoint'
      ? 'an endpoint needs no gateway: ask it with `inspect eval` itself, or name weights with --engine or --checkpoint'
      : systemPrompt !== undefined
        ? 'its system prompt is its own: leave --system-prompt out'
        : judges
          ? 'its judge is its own: leave --judge out and write inspect:TASK?model-role=grader=MODEL'
          : null;
  if (what !== null) throw new DomainError('refused', `inspect:${task}: ${what}.`);
}

function settingsOf(request: BenchmarkRequest): InspectSettings {
  const { temperature, maxTokens, topP, timeoutSeconds, maxExamples, numSamples, concurrency } = request;
  return {
    temperature: temperature ?? DEFAULTS.temperature,
    maxTokens: maxTokens ?? DEFAULTS.maxTokens,
    topP: topP ?? DEFAULTS.topP,
    timeoutSeconds: timeoutSeconds ?? DEFAULTS.timeoutSeconds,
    limit: maxExamples,
    epochs: numSamples > 1 ? numSamples : undefined,
    maxConnections: concurrency,
    retryOnError: 0,
  };
}

/** Has Inspect run the task and writes the benchmark's files. A repeated attempt finds what the model answered in the journal. */
export async function runInspectShard(
  dependencies: InspectShardDependencies,
  {
    task,
    plan,
    place,
  }: { readonly task: InspectTask; readonly plan: BenchmarkPlan; readonly place: BenchmarkPlace },
  attempt: InspectAttempt,
): Promise<ShardCounts> {
  const { request, contextWindow, identity } = plan;
  const access = dependencies.inspect;
  if (!access)
    throw new DomainError('bad-config', `inspect:${task.task}: this worker has no way to run Inspect AI.`);
  const settings = settingsOf(request);
  const { epoch, signal } = attempt;
  const { concurrency } = request;
  const opening = { concurrency, contextWindow, timeoutMs: settings.timeoutSeconds * 1000, signal };
  const { completer, site } = await dependencies.models.open(request.model, opening);
  const progress = new SampleProgress(place, dependencies.now);
  try {
    if (!site)
      throw new DomainError('refused', `inspect:${task.task} is asked of weights, not of an endpoint.`);
    const folder = resultFolder(place);
    await evaluateTasks([{ task, name: null }], {
      ...{ site, access, settings, signal },
      model: { name: request.model.model, checkpoint: identity.checkpoint, identity: plan.base },
      place: {
        ...{ folder, epoch, resultOf: () => ({ name: plan.benchmark, folder, identity }) },
        onWaiting: (waiting) => {
          attempt.onProgress({ waiting });
        },
      },
      onAnswer: (done) => {
        attempt.onProgress({ ...NO_COUNTS, total: done, done });
      },
      onSamples: (count) => {
        progress.note(count);
      },
    });
    await progress.end();
    const counts = countsOf(await loadResult(place.folder, plan.benchmark));
    const told = { ...counts, isComplete: true, at: dependencies.now().toISOString() };
    await writeJson(progressPath(place, 0), told);
    return counts;
  } finally {
    await progress.end();
    await completer.close();
  }
}

function countsOf(result: StoredResult | null): ShardCounts {
  if (!result) return NO_COUNTS;
  const { num_examples: total, num_errors: errorCount, num_truncated: truncatedCount, score } = result;
  const completedCount = result.num_completed;
  const rewardSum = score * total;
  return {
    ...{ total, done: total, errorCount, truncatedCount, completedCount },
    ...{ rewardSum, rewardSquares: rewardSum },
  };
}
