import { CancellationScope, getExternalWorkflowHandle, isCancellation, log } from '@temporalio/workflow';
import { evaluator } from './activities';
import type { CellResult, EvaluateCheckpointInput } from './contracts';
import { evaluationFinishedSignal } from './contracts';
import { failureMessage } from './training/failures';

/**
 * Score one snapshot with every evaluator that is due on it, in parallel.
 *
 * An evaluator that fails is a result like any other: it is reported and ends nothing. Running it again finds
 * finished cells in the store and samples nothing twice.
 */
export async function evaluateCheckpoint(input: EvaluateCheckpointInput): Promise<readonly CellResult[]> {
  const cells = await Promise.all(input.evaluators.map((name) => evaluateCell(input, name)));
  await CancellationScope.nonCancellable(() => tellParent(input, cells));
  return cells;
}

async function evaluateCell(input: EvaluateCheckpointInput, name: string): Promise<CellResult> {
  try {
    return await evaluator.evaluateCell({ ...input, evaluator: name });
  } catch (error) {
    const reason = isCancellation(error) ? 'cancelled' : failureMessage(error);
    return { evaluator: name, scores: [], at: new Date().toISOString(), error: reason };
  }
}

async function tellParent(input: EvaluateCheckpointInput, cells: readonly CellResult[]): Promise<void> {
  try {
    // Without a run id, so that it reaches whichever execution of the run lives.
    await getExternalWorkflowHandle(input.parentWorkflowId).signal(evaluationFinishedSignal, {
      step: input.step,
      cells,
    });
  } catch (error) {
    log.warn('the training run could not be told', { run: input.run, reason: failureMessage(error) });
  }
}
