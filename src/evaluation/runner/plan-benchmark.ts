import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  BenchmarkPlace,
  BenchmarkRequest,
  ModelSource,
  PlannedBenchmark,
} from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { givenDates, withinDates } from '../benchmarks/date-window';
import type { ResultIdentity, StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import type { Benchmark, GenerationDefaults } from '../benchmarks/benchmark';
import { findBenchmark } from '../benchmarks';
import { judgesOfIdentity, refuseWithoutJudge } from '../judges/judged-grader';
import { planRejudging } from '../judges/plan-rejudging';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import { streamExamples } from '../benchmarks/load-examples';
import { digestOf } from '../digest';
import { identifyInspect, planInspect } from '../inspect/inspect-benchmark';
import type { InspectAccess } from '../inspect/run/inspect-access';
import { lookUpKind } from '../kinds';
import { forModel } from '../model-defaults';
import type { PluginRegistry } from '../plugins';
import type { BenchmarkPlan } from './benchmark-plan';
import { examplesPath, findPlan, nextStart, readProgress, shardFolder, writePlan } from './benchmark-plan';
import { describeEvalRun } from './eval-run-files';
import type { DraftOrder } from './example-draft';
import { ExampleDraft } from './example-draft';
import { SEED_RULE } from './identity';
import { identifyKind, planKind } from './kind-benchmark';
import type { ModelAccess } from './open-model';
import type { Making } from './option-differences';
import { refuseOtherIdentity } from './refuse-other-identity';
import { isShardWhole } from './shard-journals';
import { summaryOf } from './summary-of';

export interface PlanDependencies {
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly loadPlugins: (file: string | undefined) => Promise<PluginRegistry>;
  readonly models: Pick<ModelAccess, 'promptFormat'>;
  /** The way to run tasks of Inspect AI. */
  readonly inspect?: InspectAccess;
  readonly now: () => Date;
}

/** What it takes to know what a result would be made of. */
export interface IdentifyDependencies extends Omit<PlanDependencies, 'now' | 'inspect'> {
  readonly inspect?: Pick<InspectAccess, 'cacheFolder'>;
}

/** Everything a plan says but how often it was started. */
type PlannedWork = Omit<BenchmarkPlan, 'shards' | 'starts' | 'startedAt' | 'secondsBefore'>;

const LEAST_UNITS_A_SHARD = 2000;
/** So often a shard fills the places at the model: longer than the next shard takes to begin, even with fast answers. */
const ROUNDS_A_SHARD = 16;

/**
 * Fixes what a benchmark is: its examples, how they are asked and judged, and how they are cut into shards.
 *
 * Asked again, it finds the plan that is there, provided that it is of the same identity, and says what is left to do.
 */
export async function planBenchmark(
  dependencies: PlanDependencies,
  request: BenchmarkRequest,
): Promise<PlannedBenchmark> {
  const { inspectTask: task } = request;
  if (task) return planInspect(dependencies, task, request);
  const plugins = await dependencies.loadPlugins(request.plugins);
  const kind = lookUpKind(request.benchmark, plugins);
  if (kind) return planKind(dependencies, kind, request);
  const benchmark = withinDates(findBenchmark(request.benchmark, plugins), request);
  const place = { ...request, benchmark: benchmark.name };
  refuseWithoutJudge(benchmark.grader, request.judges);
  return request.samplesFrom === undefined
    ? planQuestions(dependencies, benchmark, place)
    : planRejudging(dependencies, benchmark, place);
}

async function planQuestions(
  dependencies: PlanDependencies,
  benchmark: Benchmark,
  place: BenchmarkRequest,
): Promise<PlannedBenchmark> {
  const before = await findPlan(place);
  const starts = await nextStart(place, before, dependencies.now());
  const { source, draft } = await draftExamples(dependencies, benchmark, {
    request: place,
    path: examplesPath(place),
    sizeOf: (shard) => (before ? (before.shards[shard]?.exampleCount ?? 1) : perShard(place)),
  });
  try {
    const work = workOf(dependencies, benchmark, { request: place, source, draft });
    const result = await loadResult(place.folder, benchmark.name);
    const making = makingOf(before, result);
    if (making) refuseOtherIdentity(place, making, work);
    if (making && result?.num_errors === 0) {
      return { name: benchmark.name, starts, pendingShards: [], finished: summaryOf(result) };
    }
    await draft.keep({ isPlanned: before !== null });
    const startedAt = dependencies.now().toISOString();
    const secondsBefore = result?.time_seconds ?? 0;
    const plan = { ...work, shards: draft.parts, starts, startedAt, secondsBefore };
    await describeEvalRun(place, startedAt);
    await writePlan(place, plan);
    return {
      ...{ name: benchmark.name, starts, pendingShards: await pendingShards(plan), finished: null },
      ...(benchmark.needsSandbox && { needsSandbox: true }),
    };
  } finally {
    await draft.discard();
  }
}

/** A plan that is lost can be told from its result; results of other programs say nothing of themselves. */
function makingOf(before: BenchmarkPlan | null, result: StoredResult | null): Making | null {
  return before ?? (result?.identity.dataHash ? { identity: result.identity } : null);
}

/** What a result of this request would be made of, and under which name. Reads the data and asks no model. */
export async function identifyBenchmark(
  dependencies: IdentifyDependencies,
  request: BenchmarkRequest,
): Promise<Pick<BenchmarkPlan, 'benchmark' | 'identity'>> {
  const { inspectTask: task } = request;
  if (task) return identifyInspect(dependencies, task, request);
  const plugins = await dependencies.loadPlugins(request.plugins);
  const kind = lookUpKind(request.benchmark, plugins);
  if (kind) return identifyKind(dependencies, kind, request);
  const benchmark = withinDates(findBenchmark(request.benchmark, plugins), request);
  const folder = await mkdtemp(join(tmpdir(), 'everstep-examples-'));
  try {
    const asked = { ...request, benchmark: benchmark.name };
    const path = join(folder, 'examples.jsonl');
    const sizeOf = () => LEAST_UNITS_A_SHARD;
    const { source, draft } = await draftExamples(dependencies, benchmark, { request: asked, path, sizeOf });
    const { identity } = workOf(dependencies, benchmark, { request: asked, source, draft });
    return { benchmark: benchmark.name, identity };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface DraftPlan extends Pick<DraftOrder, 'sizeOf'> {
  readonly request: BenchmarkRequest;
  readonly path: string;
}

async function draftExamples(
  { readBenchmarkRows }: Pick<PlanDependencies, 'readBenchmarkRows'>,
  benchmark: Benchmark,
  { request: { maxExamples, dataFolder }, path, sizeOf }: DraftPlan,
): Promise<{ readonly source: string; readonly draft: ExampleDraft }> {
  const { examples, source } = await streamExamples(benchmark, readBenchmarkRows(dataFolder));
  const { orderSeed } = benchmark;
  const draft = await ExampleDraft.write(path, { examples, orderSeed, maxExamples, sizeOf });
  if (draft.exampleCount > 0) return { source, draft };
  await draft.discard();
  throw new DomainError(
    'bad-dataset',
    `${benchmark.name}: ${source} has no examples. Check the data, or name another folder with EVERSTEP_DATA_DIR.`,
  );
}

interface ChosenExamples {
  readonly request: BenchmarkRequest;
  readonly source: string;
  readonly draft: Pick<ExampleDraft, 'dataHash' | 'exampleCount'>;
}

function workOf(
  { models }: Pick<PlanDependencies, 'models'>,
  benchmark: Benchmark,
  { request, source, draft }: ChosenExamples,
): PlannedWork {
  const { model, numSamples } = request;
  const defaults = forModel(model.model);
  const generation = generationOf(request, benchmark);
  const contextWindow = request.contextWindow ?? defaults.contextWindow;
  const systemPrompt = request.systemPrompt ?? benchmark.systemPrompt ?? null;
  const promptHash = digestOf([models.promptFormat(model), systemPrompt]);
  const identity: ResultIdentity = {
    benchmarkVersion: benchmark.version,
    dataHash: draft.dataHash,
    ...givenDates(request),
    promptHash,
    graderVersion: benchmark.grader.version,
    sampling: { ...generation, numSamples, contextWindow, seed: SEED_RULE },
    model: model.model,
    checkpoint: checkpointOf(model),
    ...judgesOfIdentity(benchmark.grader, request.judges),
  };
  return {
    benchmark: benchmark.name,
    request,
    identity,
    generation,
    contextWindow,
    timeoutSeconds: request.timeoutSeconds ?? defaults.timeoutSeconds,
    numSamples,
    systemPrompt,
    source,
    exampleCount: draft.exampleCount,
    base: digestOf([model.type, weightsOf(model), model.model, promptHash, generation, contextWindow]),
  };
}

/** How people call what was measured. */
function checkpointOf(model: ModelSource): string {
  return model.type === 'endpoint' ? model.url : (model.label ?? model.path ?? '');
}

/** What was measured, whatever it is called. */
function weightsOf(model: ModelSource): string {
  return model.type === 'endpoint' ? model.url : (model.identity ?? model.path ?? '');
}

/** What is known of a model goes before what its benchmark suggests; the benchmark knows how long its answers are. */
function generationOf(
  { model, maxTokens, temperature, topP }: BenchmarkRequest,
  { generation }: Benchmark,
): GenerationDefaults {
  const known = forModel(model.model);
  return {
    maxTokens: maxTokens ?? (known.warning === null ? known.maxTokens : generation.maxTokens),
    temperature: temperature ?? generation.temperature,
    topP: topP ?? generation.topP,
  };
}

function perShard({ numSamples, concurrency }: BenchmarkRequest): number {
  const units = Math.max(LEAST_UNITS_A_SHARD, concurrency * ROUNDS_A_SHARD);
  return Math.max(1, Math.floor(units / numSamples));
}

/** A shard that is complete and has errors, or whose journals somebody damaged since, is tried again. */
async function pendingShards(plan: BenchmarkPlan): Promise<number[]> {
  const place = { ...plan.request, benchmark: plan.benchmark };
  const pending: number[] = [];
  // One at a time: the journals of one shard are in memory.
  for (const shard of plan.shards.keys()) if (!(await isDone(place, shard))) pending.push(shard);
  return pending;
}

async function isDone(place: BenchmarkPlace, shard: number): Promise<boolean> {
  const found = await readProgress(place, shard);
  if (!found?.isComplete || found.errorCount > 0) return false;
  return isShardWhole(shardFolder(place, shard), found.total);
}
