import type { BenchmarkPlace, BenchmarkRequest, PlannedBenchmark } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { withinDates } from '../benchmarks/date-window';
import type { StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import type { Benchmark } from '../benchmarks/benchmark';
import { findBenchmark } from '../benchmarks';
import { refuseWithoutJudge } from '../judges/judged-grader';
import { planRejudging } from '../judges/plan-rejudging';
import { refuseUnaskedJudges } from '../judges/unasked-judges';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import { planInspect } from '../inspect/inspect-benchmark';
import type { InspectAccess } from '../inspect/run/inspect-access';
import { readInspectTask } from '../inspect/task-name';
import { lookUpKind } from '../kinds';
import type { PluginRegistry } from '../plugins';
import { planRegrading } from '../regrade/plan-regrading';
import { withoutStoredAnswers } from '../regrade/without-stored-answers';
import type { BenchmarkPlan } from './benchmark-plan';
import { examplesPath, findPlan, nextStart, writePlan } from './benchmark-plan';
import { draftExamples, examplesPerShard } from './draft-examples';
import { describeEvalRun } from './eval-run-files';
import type { ExampleDraft } from './example-draft';
import { planKind } from './kind-benchmark';
import type { ModelAccess } from './open-model';
import type { Making } from './option-differences';
import { leftToDo } from './pending-shards';
import { workOf } from './planned-work';
import { questionsHashOf } from './identity';
import { questionsHashIn } from './frozen-questions';
import { isSameIdentity, otherIdentity } from './refuse-other-identity';
import { summaryOf } from './summary-of';
import { takeAnswers } from './take-answers';

export interface PlanDependencies {
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly loadPlugins: (file: string | undefined) => Promise<PluginRegistry>;
  readonly models: Pick<ModelAccess, 'promptFormat'>;
  /** The way to run tasks of Inspect AI. */
  readonly inspect?: InspectAccess;
  readonly now: () => Date;
}

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
  if (task) refuseBudget(request, 'Inspect AI asks the model itself');
  if (task) return planInspect(dependencies, task, withoutStoredAnswers(request, 'Inspect AI'));
  const plugins = await dependencies.loadPlugins(request.plugins);
  const isNew = request.samplesFrom === undefined && !request.isRegrading;
  if (isNew) refuseUnaskedJudges(request, (name) => isJudgedByModel(name, plugins));
  const kind = lookUpKind(request.benchmark, plugins);
  if (kind) refuseBudget(request, 'its task asks the model itself');
  if (kind) return planKind(dependencies, kind, withoutStoredAnswers(request, 'its own task'));
  const benchmark = withinDates(findBenchmark(request.benchmark, plugins), request);
  const place = { ...request, benchmark: benchmark.name };
  refuseWithoutJudge(benchmark.grader, request.judges);
  if (request.isRegrading) return planRegrading(dependencies, benchmark, place);
  if (request.samplesFrom !== undefined) return planRejudging(dependencies, benchmark, place);
  return planQuestions(dependencies, benchmark, place);
}

/** What is not known here is refused by its own plan. */
function isJudgedByModel(name: string, plugins: PluginRegistry): boolean {
  if (readInspectTask(name) || lookUpKind(name, plugins)) return false;
  return findBenchmark(name, plugins).grader.judging !== undefined;
}

function refuseBudget({ budget, benchmark }: BenchmarkRequest, why: string): void {
  if (!budget) return;
  throw new DomainError('bad-config', `${benchmark} is not held to a budget: ${why}. Leave --budget out.`);
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
    path: examplesPath(place, before),
    sizeOf: (shard) => (before ? (before.shards[shard]?.exampleCount ?? 1) : examplesPerShard(place)),
  });
  try {
    const work = workOf(dependencies, benchmark, { request: place, source, draft, before });
    const result = await loadResult(place.folder, benchmark.name);
    const making = makingOf(before, result);
    if (making && !isSameIdentity(making.identity, work.identity))
      throw otherIdentity(place, ...(await withQuestions(place, { before, making, asked: work, draft })));
    if (result?.num_errors === 0 && isSameIdentity(result.identity, work.identity)) {
      return { name: benchmark.name, starts, pendingShards: [], finished: summaryOf(result) };
    }
    await draft.keep({ isPlanned: before !== null });
    const startedAt = dependencies.now().toISOString();
    const secondsBefore = result?.time_seconds ?? 0;
    const cut = { ...work, shards: draft.parts };
    const answers = before ? null : await takeAnswers(place, cut, benchmark);
    const plan = { ...cut, ...(answers && { answers }), starts, startedAt, secondsBefore };
    await describeEvalRun(place, startedAt);
    await writePlan(place, plan);
    return await leftToDo(plan, benchmark);
  } finally {
    await draft.discard();
  }
}

/** A plan that is lost can be told from its result; results of other programs say nothing of themselves. */
function makingOf(before: BenchmarkPlan | null, result: StoredResult | null): Making | null {
  return before ?? (result?.identity.dataHash ? { identity: result.identity } : null);
}

interface RefusedMaking {
  readonly before: BenchmarkPlan | null;
  readonly making: Making;
  readonly asked: Making;
  readonly draft: ExampleDraft;
}

/** Both makings with what their examples ask, so that it is known what answers still serve. */
async function withQuestions(
  place: BenchmarkPlace,
  { before, making, asked, draft }: RefusedMaking,
): Promise<[there: Making, asked: Making]> {
  const there = before && (await questionsHashIn(place, before));
  if (there === null) return [making, asked];
  return [
    { ...making, questionsHash: there },
    { ...asked, questionsHash: questionsHashOf(await draft.read()) },
  ];
}
