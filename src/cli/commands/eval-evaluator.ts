import type { EvaluatorOptions } from '../../client/eval-evaluator';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT, refusalOf } from '../exit-codes';
import type { Output } from '../output';
import { printCellScores } from './cell-scores';

interface RunEvaluatorOptions extends EvaluatorOptions {
  readonly session: Session;
  readonly printer: Output;
  /** Ctrl-C: stop waiting. */
  readonly signal: AbortSignal;
}

/** Runs one evaluator of a training run on one of its checkpoints and prints its scores. */
export async function runEvaluatorAlone(evaluator: string, options: RunEvaluatorOptions): Promise<number> {
  const { session, printer: output, signal, checkpoint, run, output: folder } = options;
  const handle = await session.everstep.evaluateWith(evaluator, { checkpoint, run, output: folder });
  output.note(`Evaluator ${evaluator} on ${checkpoint}: results in ${handle.folder}`);
  const outcome = await handle.result({ signal });
  if (!outcome) {
    output.note('Give the same command again to go on.');
    return EXIT.interrupted;
  }
  if ('failure' in outcome) {
    const { failure } = outcome;
    if (!failure.isCancelled) throw refusalOf(failure);
    output.note(`${evaluator} was ${escapeControls(failure.message)}`);
    return EXIT.failed;
  }
  const { scores, error } = outcome.value;
  const { request } = handle;
  output.document({
    run: request.run,
    dir: request.folder,
    evaluator,
    scores,
    ...(error !== undefined && { error }),
  });
  if (error !== undefined) {
    output.note(`${evaluator} failed: ${escapeControls(error)}`);
    return EXIT.failed;
  }
  printCellScores(output, scores);
  return EXIT.done;
}
