import { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import type { AskingBudget, BenchmarkPlace, ShardCounts, WaitingShard } from '../../core/benchmark-run';
import { NO_COUNTS } from '../../core/benchmark-run';
import { findBenchmark } from '../benchmarks';
import type { Benchmark } from '../benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import { runInspectShard } from '../inspect/inspect-benchmark';
import type { InspectAccess } from '../inspect/run/inspect-access';
import { carryUnanswered } from '../judges/carry-answers';
import type { JudgeAccess } from '../judges/judge-access';
import { withJudges } from '../judges/judged-grader';
import { openGraders } from '../judges/open-graders';
import { NO_SAMPLING } from '../judges/plan-rejudging';
import { findKind } from '../kinds';
import type { PluginRegistry } from '../plugins';
import type { PythonLink } from '../python/python-link';
import type { BenchmarkPlan } from './benchmark-plan';
import { examplesPath, progressPath, readPlan, shardFolder } from './benchmark-plan';
import { FrozenExamples } from './frozen-examples';
import type { GuardedTry } from './guard-benchmark';
import { guardBenchmark } from './guard-benchmark';
import { runKindShard } from './kind-benchmark';
import type { ModelAccess } from './open-model';
import type { BudgetedCompleter } from './open-budget';
import { openBudget } from './open-budget';
import type { Permits } from './permits';
import { refuseOtherGrader } from './refuse-other-grader';
import { ProgressTeller } from './progress-teller';
import { keepUnanswered } from '../regrade/keep-unanswered';
import { runShard } from './run-shard';
import type { ExampleSubject } from './shard-task';

export interface ShardDependencies {
  readonly models: ModelAccess;
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly loadPlugins: (file: string | undefined) => Promise<PluginRegistry>;
  /** Places of this process at a model: one set a model, the largest that anybody asks for. */
  readonly permitsOf: (subject: string, limit: number) => Permits;
  readonly now: () => Date;
  /** The way to graders in Python. */
  readonly python?: PythonLink;
  /** The way to models that judge. */
  readonly judges?: JudgeAccess;
  /** The way to run tasks of Inspect AI. */
  readonly inspect?: InspectAccess;
}

export interface BenchmarkShardInput extends BenchmarkPlace {
  readonly shard: number;
  /** Of the benchmark. */
  readonly budget?: AskingBudget;
}

export interface ShardAttempt extends GuardedTry {
  readonly epoch: number;
  readonly onProgress: (counts: ShardCounts | WaitingShard) => void;
}

/** Runs one shard of a planned benchmark, telling once a second in its folder how far it is. Returns counts alone. */
export async function runBenchmarkShard(
  dependencies: ShardDependencies,
  input: BenchmarkShardInput,
  attempt: ShardAttempt,
): Promise<ShardCounts> {
  const plan = await readPlan(input);
  const { request } = plan;
  if (request.inspectTask) {
    return runInspectShard(dependencies, { task: request.inspectTask, plan, place: input }, attempt);
  }
  const begun = { plan, input };
  if (plan.isKind) return measureKind(dependencies, begun, attempt);
  const benchmark = await findPlanned(dependencies, begun, attempt);
  refuseOtherGrader(plan, benchmark);
  const part = plan.shards[input.shard];
  if (!part) return NO_COUNTS;
  const examples = await FrozenExamples.open(examplesPath(input, plan), part);
  await prepareJournals({ plan, benchmark, input }, examples, attempt);
  const waits = new WaitingReasons((waiting) => {
    attempt.onProgress({ waiting });
  });
  const { graders, completer, ...limits } = await openShard(
    dependencies,
    { plan, benchmark, input, waits },
    attempt,
  );
  const teller = new ProgressTeller(progressPath(input, input.shard), dependencies.now);
  let budgeted: BudgetedCompleter | null = null;
  try {
    const { budget } = input;
    const { epoch } = attempt;
    if (budget)
      budgeted = await openBudget(input, { budget, plan, epoch, completer, onWaiting: waits.part() });
    const counts = await runShard({
      subject: { ...subjectOf(plan, benchmark), grader: graders.grader },
      examples,
      folder: shardFolder(input, input.shard),
      epoch,
      completer: budgeted ?? completer,
      permits: dependencies.permitsOf(permitName(plan, benchmark), limits.concurrency),
      rank: input.shard,
      waits,
      ...limits,
      signal: attempt.signal,
      onProgress(counts) {
        teller.note(counts);
        attempt.onProgress(counts);
      },
    });
    await teller.end(counts);
    return counts;
  } finally {
    await graders.close();
    teller.stop();
    await (budgeted ?? completer).close();
  }
}

interface BegunShard {
  readonly plan: BenchmarkPlan;
  readonly input: BenchmarkShardInput;
}

interface PlannedShard extends BegunShard {
  readonly benchmark: Benchmark;
}

function measureKind(
  dependencies: ShardDependencies,
  { plan, input }: BegunShard,
  attempt: ShardAttempt,
): Promise<ShardCounts> {
  const { plugins } = plan.request;
  return guardBenchmark({ place: input, plugins }, attempt, async ({ signal }) => {
    const kind = findKind(plan.benchmark, await dependencies.loadPlugins(plugins));
    return runKindShard(dependencies, { kind, plan, place: input }, { ...attempt, signal });
  });
}

/** What comes then is looked after example by example. */
function findPlanned(
  dependencies: ShardDependencies,
  { plan, input }: BegunShard,
  attempt: ShardAttempt,
): Promise<Benchmark> {
  const { plugins } = plan.request;
  const folder = shardFolder(input, input.shard);
  return guardBenchmark({ place: input, plugins, folder }, attempt, async () =>
    findBenchmark(plan.benchmark, await dependencies.loadPlugins(plugins)),
  );
}

/** Of prompts without an answer there is nothing to judge: they stay what they were. */
async function prepareJournals(
  { plan, benchmark, input }: PlannedShard,
  examples: FrozenExamples,
  { epoch }: ShardAttempt,
): Promise<void> {
  const { samplesFrom } = plan.request;
  const folder = shardFolder(input, input.shard);
  const subject = subjectOf(plan, benchmark);
  if (plan.isRegrading) await keepUnanswered({ folder, epoch, subject, examples });
  if (samplesFrom === undefined) return;
  const from = shardFolder({ ...input, folder: samplesFrom }, input.shard);
  await carryUnanswered({ from, to: folder, subject, examples });
}

/** The model and whoever judges it, ready to be asked. The caller closes both. */
async function openShard(
  dependencies: ShardDependencies,
  { plan, benchmark, input, waits }: PlannedShard & { readonly waits: WaitingReasons },
  { epoch, signal }: ShardAttempt,
) {
  const { request, contextWindow, timeoutSeconds } = plan;
  const concurrency = benchmark.environment ? request.agentConcurrency : request.concurrency;
  const timeoutMs = timeoutSeconds * 1000;
  const folder = shardFolder(input, input.shard);
  const modelOptions = { concurrency, contextWindow, timeoutMs, signal, onWaiting: waits.part() };
  const { completer } =
    request.samplesFrom === undefined && !plan.isRegrading
      ? await dependencies.models.open(request.model, modelOptions)
      : { completer: NO_SAMPLING };
  try {
    const { judges: access, python: link } = dependencies;
    const graders = await openGraders(subjectOf(plan, benchmark).grader, {
      python: { link, signal, timeoutMs, onWaiting: waits.part() },
      judging: {
        ...{ judges: request.judges, access, folder, epoch, rank: input.shard, signal },
        onWaiting: waits.part(),
      },
    });
    return { graders, completer, concurrency, timeoutMs };
  } catch (error) {
    await completer.close();
    throw error;
  }
}

export function subjectOf(plan: BenchmarkPlan, benchmark: Benchmark): ExampleSubject {
  const { generation, numSamples, systemPrompt, base, isKeyedByPrompt, regraded = [] } = plan;
  return {
    ...(isKeyedByPrompt && { isKeyedByPrompt }),
    gradingCount: regraded.length,
    grader: withJudges(benchmark.grader, plan.request.judges),
    generation,
    numSamples,
    base,
    ...(systemPrompt !== null && { systemPrompt }),
    ...(benchmark.environment && { environment: benchmark.environment.bind(benchmark) }),
  };
}

/** Agents take long and hold their place throughout, so that they have places of their own. */
function permitName({ request: { model } }: BenchmarkPlan, benchmark: Benchmark): string {
  const where = model.type === 'endpoint' ? model.url : (model.url ?? 'engine');
  return [where, model.model, benchmark.environment ? 'agents' : 'questions'].join(' ');
}
