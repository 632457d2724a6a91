import { join } from 'node:path';
import type { BenchmarkPlace, BenchmarkRequest, PlannedBenchmark } from '../../core/benchmark-run';
import type { Completer } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { ResultIdentity } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import { LONGEST_TEXT_BYTES } from '../../stores/line-limit';
import { copyWholeFile } from '../../stores/whole-file';
import type { Benchmark } from '../benchmarks/benchmark';
import type { BenchmarkPlan } from '../runner/benchmark-plan';
import {
  examplesPath,
  findForeignPlan,
  findPlan,
  nextStart,
  begunShards,
  readAllProgress,
  shardFolder,
  writePlan,
} from '../runner/benchmark-plan';
import { describeEvalRun } from '../runner/eval-run-files';
import { isSameIdentity, refuseOtherIdentity } from '../runner/refuse-other-identity';
import { summaryOf } from '../runner/summary-of';
import { answerMissing } from './carry-answers';
import { judgesOfIdentity } from './judged-grader';

/** In place of the model where answers are judged again: what is not stored is not asked for. */
export const NO_SAMPLING: Completer = {
  complete: () => Promise.reject(answerMissing()),
  close: () => Promise.resolve(),
};

/**
 * Plans to judge the answers of an eval run again: its examples and completions are copied, its judgements are not. The
 * result is one of its own, whose identity names the judges.
 */
export async function planRejudging(
  { now }: { readonly now: () => Date },
  benchmark: Benchmark,
  request: BenchmarkRequest & { readonly samplesFrom?: string },
): Promise<PlannedBenchmark> {
  const from = await findJudged(benchmark, request);
  const before = await findPlan(request);
  const work = { ...from, request, identity: rejudgedIdentity(from, benchmark, request) };
  if (before) refuseOtherIdentity(request, before, work);
  const result = before && (await loadResult(request.folder, benchmark.name));
  const starts = await nextStart(request, before, now());
  if (result?.num_errors === 0 && isSameIdentity(result.identity, work.identity)) {
    return { name: benchmark.name, starts, pendingShards: [], finished: summaryOf(result) };
  }
  if (!before) await copyAnswers(sourceOf(request), request, from);
  const startedAt = now().toISOString();
  await describeEvalRun(request, startedAt);
  await writePlan(request, { ...work, starts, startedAt, secondsBefore: result?.time_seconds ?? 0 });
  return {
    name: benchmark.name,
    starts,
    pendingShards: await unfinishedShards(request, from),
    finished: null,
    needsJudgesOnly: true,
  };
}

/** What a result of these judges is made of. */
export function rejudgedIdentity(
  from: Pick<BenchmarkPlan, 'identity'>,
  { version, grader }: Benchmark,
  { judges }: BenchmarkRequest,
): ResultIdentity {
  return {
    ...from.identity,
    benchmarkVersion: version,
    graderVersion: grader.version,
    ...judgesOfIdentity(grader, judges),
  };
}

async function findJudged({ name, grader }: Benchmark, request: BenchmarkRequest): Promise<BenchmarkPlan> {
  if (!grader.judging) {
    throw new DomainError(
      'bad-config',
      `${name} is not judged by a model: its grader gives the same score again.`,
    );
  }
  const plan = await findForeignPlan(sourceOf(request));
  if (plan) return plan;
  throw new DomainError(
    'bad-config',
    `${request.samplesFrom ?? ''} has no journal of ${name}. Name the folder of an eval run whose journal is still there.`,
  );
}

function sourceOf({ run, samplesFrom, benchmark }: BenchmarkRequest): BenchmarkPlace {
  return { run, folder: samplesFrom ?? '', benchmark };
}

/** Nobody reads them before the plan is written, so that an attempt which dies meanwhile leaves nothing half done. */
async function copyAnswers(from: BenchmarkPlace, to: BenchmarkPlace, plan: BenchmarkPlan): Promise<void> {
  const longestRow = LONGEST_TEXT_BYTES;
  await copyWholeFile(examplesPath(from, plan), examplesPath(to, plan), { longestRow });
  for (const shard of await begunShards(from, plan)) {
    const name = 'samples.jsonl';
    await copyWholeFile(join(shardFolder(from, shard), name), join(shardFolder(to, shard), name));
  }
}

async function unfinishedShards(place: BenchmarkPlace, plan: BenchmarkPlan): Promise<number[]> {
  const progress = await readAllProgress(place, plan);
  return [...plan.shards.keys()].filter((shard) => {
    const found = progress.get(shard);
    return !found?.isComplete || found.errorCount > 0;
  });
}
