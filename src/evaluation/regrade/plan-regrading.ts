import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchmarkPlace, BenchmarkRequest, PlannedBenchmark } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import { readJsonLines } from '../../stores/json-lines';
import type { Benchmark } from '../benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import type { BenchmarkPlan } from '../runner/benchmark-plan';
import {
  examplesPath,
  findForeignPlan,
  nextStart,
  begunShards,
  progressPath,
  shardFolder,
  writePlan,
} from '../runner/benchmark-plan';
import { draftExamples } from '../runner/draft-examples';
import type { ExampleDraft } from '../runner/example-draft';
import { questionsHashIn } from '../runner/frozen-questions';
import { questionsHashOf } from '../runner/identity';
import type { ModelAccess } from '../runner/open-model';
import { differencesText, makingDifferences } from '../runner/option-differences';
import { leftToDo } from '../runner/pending-shards';
import type { PlannedWork } from '../runner/planned-work';
import { workOf } from '../runner/planned-work';
import { askingDifferences, isSameIdentity } from '../runner/refuse-other-identity';
import type { SampleRow } from '../runner/shard-rows';
import { summaryOf } from '../runner/summary-of';
import { keepGrading } from './keep-grading';

interface RegradeDependencies {
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly models: Pick<ModelAccess, 'promptFormat'>;
}

/**
 * Plans to grade the stored answers of an eval run again, with the grader and the references as they are now. The model is not
 * asked: what an answer depends on must be as it was. What was judged before stays beside it. Asked again, it goes on where it
 * stopped; where nothing has changed since, there is nothing to do.
 */
export async function planRegrading(
  dependencies: RegradeDependencies & { readonly now: () => Date },
  benchmark: Benchmark,
  request: BenchmarkRequest,
): Promise<PlannedBenchmark> {
  const before = await findGraded(benchmark, request);
  const starts = await nextStart(request, before, dependencies.now());
  // One that no earlier attempt has: until the plan says otherwise, the file before counts.
  const examplesFile = `examples-${starts}.jsonl`;
  const path = examplesPath(request, { examplesFile });
  const compared = await compareGradings(dependencies, { benchmark, request, before, path });
  const { work, result, draft, isDone } = compared;
  try {
    if (isDone && result)
      return { name: benchmark.name, starts, pendingShards: [], finished: summaryOf(result) };
    const startedAt = dependencies.now().toISOString();
    const begun = compared.isNew ? await begin(request, { ...compared, at: startedAt, examplesFile }) : {};
    const plan = {
      ...{ ...before, ...work, ...begun, isRegrading: true as const },
      ...{ starts, startedAt, secondsBefore: result?.time_seconds ?? 0 },
    };
    await writePlan(request, plan);
    return await leftToDo(plan, benchmark);
  } finally {
    await draft.discard();
  }
}

/** What grading an eval run's answers again would change. */
export interface RegradingPreview {
  readonly benchmark: string;
  /** Samples with an answer, of all. */
  readonly answered: number;
  readonly total: number;
  /** null where the evaluation has no result. */
  readonly score: number | null;
  /** What differs from how it was graded, in words; empty where nothing does. */
  readonly changes: string;
  /** Nothing would be graded. */
  readonly isDone: boolean;
}

/** Refuses what `planRegrading` would refuse, and writes nothing. */
export async function previewRegrading(
  dependencies: RegradeDependencies,
  benchmark: Benchmark,
  request: BenchmarkRequest,
): Promise<RegradingPreview> {
  const before = await findGraded(benchmark, request);
  const folder = await mkdtemp(join(tmpdir(), 'everstep-examples-'));
  try {
    const path = join(folder, 'examples.jsonl');
    const { work, result, isDone } = await compareGradings(dependencies, {
      ...{ benchmark, request, before, path },
    });
    return {
      benchmark: benchmark.name,
      answered: await countAnswered(request, before),
      total: before.exampleCount * before.numSamples,
      score: result?.score ?? null,
      changes: differencesText(makingDifferences(before, work)),
      isDone,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function countAnswered(place: BenchmarkPlace, plan: BenchmarkPlan): Promise<number> {
  let count = 0;
  for (const shard of await begunShards(place, plan)) {
    const rows = await readJsonLines<SampleRow>(join(shardFolder(place, shard), 'samples.jsonl'));
    count += new Set(rows.map(({ example_id, sample_index }) => `${sample_index} ${example_id}`)).size;
  }
  return count;
}

interface GradedBenchmark {
  readonly benchmark: Benchmark;
  readonly request: BenchmarkRequest;
  readonly before: BenchmarkPlan;
  /** Beside it the examples are drafted. */
  readonly path: string;
}

interface ComparedGradings extends ComparedPlans {
  readonly result: StoredResult | null;
  /** The present grader has judged all answers. */
  readonly isDone: boolean;
  /** It has not begun to. */
  readonly isNew: boolean;
}

/** How it was graded, and how it would be. The caller discards the draft. */
async function compareGradings(
  dependencies: RegradeDependencies,
  { benchmark, request, before, path }: GradedBenchmark,
): Promise<ComparedGradings> {
  const { source, draft } = await draftExamples(dependencies, benchmark, {
    ...{ request, path, sizeOf: (shard: number) => before.shards[shard]?.exampleCount ?? 1 },
  });
  try {
    const work = workOf(dependencies, benchmark, { request: askedOf(request), source, draft, before });
    await refuseOtherQuestions(request, { before, work, draft });
    const result = await loadResult(request.folder, benchmark.name);
    const isGradedSo = isGraded(before, work, result);
    // What a grader in Python is, no digest of ours says: it is asked again.
    const isDone = isGradedSo && !benchmark.grader.python;
    const isNew = isGradedSo || !isSameIdentity(before.identity, work.identity);
    if (!isNew && !result && !before.regraded) throw unfinished(request);
    return { before, work, draft, result, isDone, isNew };
  } catch (error) {
    await draft.discard();
    throw error;
  }
}

async function findGraded({ name, grader }: Benchmark, request: BenchmarkRequest): Promise<BenchmarkPlan> {
  if (grader.judging) {
    throw new DomainError(
      'bad-config',
      `${name} is judged by a model. Have its answers judged again with: everstep results rejudge ${request.run} --judge MODEL`,
    );
  }
  const plan = await findForeignPlan(request);
  if (plan) return plan;
  throw new DomainError(
    'bad-config',
    `${request.folder} has no journal of ${name}. Name the folder of an eval run whose journal is still there.`,
  );
}

/** As the eval run is asked for, so that `eval` goes on with it. */
function askedOf(request: BenchmarkRequest): BenchmarkRequest {
  const asked = { ...request };
  Reflect.deleteProperty(asked, 'isRegrading');
  return asked;
}

function unfinished({ benchmark, folder }: BenchmarkPlace): DomainError {
  return new DomainError(
    'refused',
    `${benchmark} in ${folder} is not finished, and its grader is as it was. Give the command that began it again: it goes on.`,
  );
}

interface ComparedPlans {
  readonly before: BenchmarkPlan;
  readonly work: PlannedWork;
  readonly draft: ExampleDraft;
}

/** An answer is judged as an answer to what was asked. */
async function refuseOtherQuestions(
  place: BenchmarkPlace,
  { before, work, draft }: ComparedPlans,
): Promise<void> {
  const remedy = `Ask anew with: --run NAME --answers-from ${place.run}, which takes the answers to prompts that are the same.`;
  const refuse = (what: string) =>
    new DomainError('refused', `${place.benchmark} in ${place.folder} was asked with ${what}. ${remedy}`);
  const differences = askingDifferences(before, work);
  if (differences.length > 0) throw refuse(differencesText(differences));
  if (before.base !== work.base) throw refuse('other weights or prompts');
  if (draft.dataHash === before.identity.dataHash) return;
  const questions = await questionsHashIn(place, before);
  if (questions !== questionsHashOf(await draft.read())) throw refuse('other questions than there are now');
  if (!before.isKeyedByPrompt)
    throw refuse('other references by a version of everstep that finds answers by them');
}

function isGraded(before: BenchmarkPlan, work: PlannedWork, result: StoredResult | null): boolean {
  const isWritten = (result?.regraded?.length ?? 0) === (before.regraded?.length ?? 0);
  return isWritten && isSameIdentity(before.identity, work.identity) && result?.num_errors === 0;
}

interface NewGrading extends ComparedPlans {
  readonly result: StoredResult | null;
  readonly at: string;
  readonly examplesFile: string;
}

/**
 * Before a plan says that there is a new grading: what an attempt that dies meanwhile has done is done again. A grading that never
 * came to a result is none.
 */
async function begin(
  place: BenchmarkPlace,
  { before, work, draft, result, at, examplesFile }: NewGrading,
): Promise<Partial<BenchmarkPlan>> {
  const regraded = result?.regraded ?? [];
  const folder = result && (await keepGrading(place, result, regraded.length + 1));
  for (const shard of await begunShards(place, before)) await rm(progressPath(place, shard), { force: true });
  const isSameData = draft.dataHash === before.identity.dataHash;
  if (!isSameData) await draft.keep({ isPlanned: false });
  const score = result?.score ?? null;
  const grading = {
    at,
    grader: work.identity.graderVersion,
    before: { grader: (result ?? before).identity.graderVersion, score, folder },
  };
  return {
    regraded: [...regraded, grading],
    ...(!isSameData && { examplesFile, shards: draft.parts }),
  };
}
