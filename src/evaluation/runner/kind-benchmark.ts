import { writeJson } from '../../stores/whole-file';
import type {
  BenchmarkPlace,
  BenchmarkRequest,
  BenchmarkSummary,
  PlannedBenchmark,
  ShardCounts,
  WaitingShard,
} from '../../core/benchmark-run';
import { NO_COUNTS } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { loadResult } from '../../stores/eval-store';
import { GENERATION } from '../benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import { digestOf } from '../digest';
import { chooseIndices } from '../kinds/evaluate-kind';
import type { Kind } from '../kinds/kind';
import { loadKindRows } from '../kinds/load-kind-rows';
import { kindIdentity, scoreKind } from '../kinds/score-kind';
import { forModel } from '../model-defaults';
import type { BenchmarkPlan } from './benchmark-plan';
import { findPlan, nextStart, progressPath, resultFolder, writePlan } from './benchmark-plan';
import { describeEvalRun } from './eval-run-files';
import type { ModelAccess } from './open-model';
import { refuseOtherIdentity } from './refuse-other-identity';
import { summaryOf } from './summary-of';

interface KindPlanDependencies {
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly models: Pick<ModelAccess, 'promptFormat'>;
  readonly now: () => Date;
}

type KindShardDependencies = KindPlanDependencies & { readonly models: Pick<ModelAccess, 'open'> };

interface KindAttempt {
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly onProgress: (counts: ShardCounts | WaitingShard) => void;
}

/** Of a task by itself; a training run's evaluator may sum. */
const REDUCE = 'mean';

/** Fixes what a task is asked with: one shard, whose rows are read again and must be the same. */
export async function planKind(
  dependencies: KindPlanDependencies,
  kind: Kind,
  request: BenchmarkRequest,
): Promise<PlannedBenchmark> {
  const plan = await describeKind(dependencies, kind, request);
  const place = plan.request;
  const before = await findPlan(place);
  if (before) refuseOtherIdentity(place, before, plan);
  const result = before && (await loadResult(place.folder, kind.name));
  const starts = await nextStart(place, before, dependencies.now());
  if (before && result) {
    return { name: kind.name, starts: before.starts, pendingShards: [], finished: summaryOf(result) };
  }
  await describeEvalRun(place, plan.startedAt);
  await writePlan(place, { ...plan, starts });
  return { name: kind.name, starts, pendingShards: [0], finished: null };
}

/** What a result of this request would be made of. Reads the data and asks no model. */
export async function identifyKind(
  dependencies: Omit<KindPlanDependencies, 'now'>,
  kind: Kind,
  request: BenchmarkRequest,
): Promise<Pick<BenchmarkPlan, 'benchmark' | 'identity'>> {
  const plan = await describeKind({ ...dependencies, now: () => new Date() }, kind, request);
  return { benchmark: plan.benchmark, identity: plan.identity };
}

async function describeKind(
  dependencies: KindPlanDependencies,
  kind: Kind,
  request: BenchmarkRequest,
): Promise<BenchmarkPlan> {
  const { model } = request;
  if (model.type === 'endpoint' || request.numSamples !== 1) throw refusal(kind);
  const { rows, source } = await loadKindRows(kind, dependencies.readBenchmarkRows(request.dataFolder));
  const asked = {
    rows,
    indices: chooseIndices(kind.name, rows.length, request.maxExamples),
    reduce: REDUCE,
  } as const;
  const promptHash = digestOf([dependencies.models.promptFormat(model)]);
  const contextWindow = request.contextWindow ?? forModel(model.model).contextWindow;
  const identity = kindIdentity(kind, asked);
  const sampling = { ...identity.sampling, contextWindow };
  return {
    isKind: true,
    benchmark: kind.name,
    request: { ...request, benchmark: kind.name },
    identity: {
      ...{ ...identity, sampling, promptHash },
      model: model.model,
      checkpoint: model.label ?? model.path ?? '',
    },
    generation: GENERATION,
    contextWindow,
    timeoutSeconds: request.timeoutSeconds ?? forModel(model.model).timeoutSeconds,
    numSamples: 1,
    systemPrompt: null,
    source,
    exampleCount: asked.indices.length,
    shards: [{ exampleCount: asked.indices.length, offset: 0, bytes: 0 }],
    base: digestOf([model.identity ?? model.path ?? '', model.model, promptHash, contextWindow]),
    starts: 1,
    startedAt: dependencies.now().toISOString(),
    secondsBefore: 0,
  };
}

function refusal({ name }: Kind): DomainError {
  return new DomainError(
    'refused',
    `${name} reads tokens and their likelihoods, once an example. Ask it with --engine or --checkpoint instead of --endpoint, and without --samples.`,
  );
}

/** Asks all of a task and writes its files. A repeated attempt goes on from the journal. */
export async function runKindShard(
  dependencies: KindShardDependencies,
  {
    kind,
    plan,
    place,
  }: { readonly kind: Kind; readonly plan: BenchmarkPlan; readonly place: BenchmarkPlace },
  attempt: KindAttempt,
): Promise<ShardCounts> {
  const { request, contextWindow, identity } = plan;
  const { rows } = await loadKindRows(kind, dependencies.readBenchmarkRows(request.dataFolder));
  const asked = {
    rows,
    indices: chooseIndices(kind.name, rows.length, request.maxExamples),
    reduce: REDUCE,
  } as const;
  const { dataHash, graderVersion } = kindIdentity(kind, asked);
  refuseOtherIdentity(place, plan, { ...plan, identity: { ...identity, dataHash, graderVersion } });
  const { concurrency } = request;
  const timeoutMs = plan.timeoutSeconds * 1000;
  const { signal, epoch } = attempt;
  const { completer, site } = await dependencies.models.open(request.model, {
    ...{ concurrency, contextWindow, timeoutMs, signal },
  });
  try {
    if (!site) throw refusal(kind);
    const total = asked.indices.length;
    const { result } = await scoreKind(site, kind, {
      ...asked,
      ...{ name: kind.name, folder: resultFolder(place), epoch, concurrency, signal, identity },
      weights: plan.base,
      seconds: () => (dependencies.now().getTime() - Date.parse(plan.startedAt)) / 1000,
      onAnswer: (done) => {
        attempt.onProgress({ ...NO_COUNTS, total, done: Math.min(done, total) });
      },
      onWaiting: (waiting) => {
        attempt.onProgress({ waiting });
      },
    });
    const counts = countsOf(result.num_examples, result.num_truncated, result.score);
    const told = { ...counts, isComplete: true, at: dependencies.now().toISOString() };
    await writeJson(progressPath(place, 0), told);
    return counts;
  } finally {
    await completer.close();
  }
}

function countsOf(total: number, truncatedCount: number, score: number): ShardCounts {
  const rewardSum = score * total;
  return {
    ...{ ...NO_COUNTS, total, done: total, truncatedCount, completedCount: total - truncatedCount },
    ...{ rewardSum, rewardSquares: rewardSum },
  };
}

/** The files are there since the shard ended. */
export async function finishedKind({ folder, benchmark }: BenchmarkPlace): Promise<BenchmarkSummary> {
  const result = await loadResult(folder, benchmark);
  if (result) return summaryOf(result);
  throw new DomainError('unreachable', `${folder} has no result of ${benchmark} yet.`, { retryable: true });
}
