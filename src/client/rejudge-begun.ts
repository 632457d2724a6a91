import path from 'node:path';
import type { BenchmarkRequest, EvaluatorRequest } from '../core/benchmark-run';
import { readStoredCell } from '../evaluation/stored-cell';
import { evaluatedStepIn } from '../stores/evaluated-step';
import { readJsonLines } from '../stores/json-lines';
import { readBenchmarkProgress } from './eval-progress';
import type { RejudgeOptions } from './rejudge';
import { rejudgeRequests } from './rejudge';
import type { RejudgeSources } from './rejudge-cells';
import { rejudgeEvaluatorRequests } from './rejudge-cells';

/** Whether the new judges have judged something of an eval run, or of a training run at a step. */
export async function isRejudgingBegun(options: RejudgeOptions, sources: RejudgeSources): Promise<boolean> {
  const { records, store, dataFolder } = sources;
  if (evaluatedStepIn(store, options.folder)) {
    const { requests } = await rejudgeEvaluatorRequests(options, sources);
    return isSome(requests, isCellBegun);
  }
  return isSome(await rejudgeRequests(options, records, { dataFolder }), hasJudged);
}

async function isSome<Each>(all: readonly Each[], is: (each: Each) => Promise<boolean>): Promise<boolean> {
  return (await Promise.all(all.map(is))).includes(true);
}

async function isCellBegun({ folder, evaluator }: EvaluatorRequest): Promise<boolean> {
  const cell = path.join(folder, evaluator);
  if ((await readStoredCell(cell)) !== null) return true;
  return (await readJsonLines(path.join(cell, 'journal', 'grades.jsonl'))).length > 0;
}

async function hasJudged(request: BenchmarkRequest): Promise<boolean> {
  return ((await readBenchmarkProgress(request))?.done ?? 0) > 0;
}
