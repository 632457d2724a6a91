import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AskingBudget, BenchmarkPlace, BenchmarkSummary } from '../../core/benchmark-run';
import { findBenchmark } from '../benchmarks';
import { writeResultPage } from '../pages/result-page';
import type { BenchmarkPlan } from './benchmark-plan';
import { examplesPath, readPlan, resultFolder, shardFolder } from './benchmark-plan';
import type { ShardDependencies } from './benchmark-shard';
import { subjectOf } from './benchmark-shard';
import { summarizeEvalRun } from './eval-run-files';
import { FrozenExamples } from './frozen-examples';
import { finishedKind } from './kind-benchmark';
import { overBudgetText } from './open-budget';
import { refuseOtherGrader } from './refuse-other-grader';
import { summaryOf } from './summary-of';
import type { FinishedShard } from './write-result';
import { DamagedShardError, writeResult } from './write-result';
import { JournalFence } from '../../stores/journal-fence';

export interface FinishedPlace extends BenchmarkPlace {
  /** What it was held to: that more was taken is told. */
  readonly budget?: AskingBudget;
}

/** Makes the files of a benchmark whose shards are done, and brings the eval run's summary up to date. */
export async function finishBenchmark(
  dependencies: Pick<ShardDependencies, 'models' | 'loadPlugins' | 'now'>,
  { budget, ...place }: FinishedPlace,
  epoch: number,
): Promise<BenchmarkSummary> {
  const plan = await readPlan(place);
  if (plan.isKind || plan.request.inspectTask) {
    const summary = await finishedKind(place);
    await finishFolder(place, plan);
    return summary;
  }
  const benchmark = findBenchmark(plan.benchmark, await dependencies.loadPlugins(plan.request.plugins));
  refuseOtherGrader(plan, benchmark);
  const fence = new JournalFence(join(resultFolder(place), 'journal', 'result'), epoch);
  fence.raise();
  const promptText = await dependencies.models.promptTextOf(plan.request.model);
  try {
    const result = await writeResult({
      name: plan.benchmark,
      folder: resultFolder(place),
      subject: subjectOf(plan, benchmark),
      shards: finishedShards(place, plan),
      identity: plan.identity,
      seconds: () => plan.secondsBefore + (dependencies.now().getTime() - Date.parse(plan.startedAt)) / 1000,
      verify: () => {
        fence.check();
      },
      ...(promptText && { promptText }),
      origin: {
        ...(plan.regraded && { regraded: plan.regraded }),
        ...(plan.answers && { answers: plan.answers }),
      },
    });
    await finishFolder(place, plan);
    const overBudget = budget ? await overBudgetText(place, { budget, plan }) : null;
    return { ...summaryOf(result), ...(overBudget !== null && { overBudget }) };
  } catch (error) {
    // The next start takes a shard that says nothing of itself for one that is not done.
    if (error instanceof DamagedShardError) await rm(join(error.folder, 'progress.json'), { force: true });
    throw error;
  }
}

async function finishFolder(place: BenchmarkPlace, { exampleCount }: BenchmarkPlan): Promise<void> {
  await writeResultPage(place, exampleCount);
  await summarizeEvalRun(place.folder);
}

async function* finishedShards(place: BenchmarkPlace, plan: BenchmarkPlan): AsyncGenerator<FinishedShard> {
  for (const [shard, part] of plan.shards.entries()) {
    yield {
      folder: shardFolder(place, shard),
      examples: await FrozenExamples.open(examplesPath(place, plan), part),
    };
  }
}
