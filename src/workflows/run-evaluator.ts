import { workflowInfo } from '@temporalio/workflow';
import { evaluator, judge } from './activities';
import type { RunEvaluatorInput } from './benchmark-contracts';
import type { CellResult } from './contracts';

/**
 * Score one checkpoint of a training run with one of the run's evaluators, beside the run.
 *
 * The cell lies in the eval run's folder. Running it again finds it there, or goes on from its journal.
 */
export async function runEvaluator({ request }: RunEvaluatorInput): Promise<CellResult> {
  const { trainingRun, step, lineage, samplerPath, evaluator: name, folder } = request;
  const { isAtOwnEngine, rejudging } = request;
  // Later starts outrank earlier ones, also those that another server knew.
  const attempt = Math.floor(workflowInfo().startTime.getTime() / 1000);
  const role = rejudging ? judge : evaluator;
  return role.evaluateCell({
    run: trainingRun,
    step,
    lineage,
    samplerPath,
    evaluator: name,
    folder: `${folder}/${name}`,
    attempt,
    ...(isAtOwnEngine && { isAtOwnEngine }),
    ...(rejudging && { rejudging }),
  });
}
