import { anySignal } from '../../core/concurrency/any-signal';
import type { EvaluatorHandle } from '../../client/eval-evaluator';
import type { WorkflowOutcome } from '../../client/eval-workflow';
import { pause } from '../../client/pause';
import type { CellResult } from '../../workflows/contracts';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import { printCellScores } from './cell-scores';

interface FollowCells {
  readonly output: Output;
  /** Ctrl-C: stop waiting. */
  readonly signal: AbortSignal;
}

const REASONS_MS = 3000;

type Outcome = WorkflowOutcome<CellResult>;

/** Waits for evaluations of a training run that are judged again, and prints their new scores. */
export async function followCells(
  handles: readonly EvaluatorHandle[],
  { output, signal }: FollowCells,
): Promise<number> {
  for (const { folder, request } of handles) {
    output.note(
      `Judging ${request.evaluator} of ${request.trainingRun}@${request.step}: results in ${folder}`,
    );
  }
  const outcomes = await outcomesOf(handles, { output, signal });
  const found = outcomes.filter((outcome) => outcome !== null);
  if (found.length < outcomes.length) {
    output.note('Give the same command again to go on.');
    return EXIT.interrupted;
  }
  const told = handles.map(({ request, folder }, index) => ({
    evaluator: request.evaluator,
    dir: folder,
    ...endOf(found[index]),
  }));
  const [first] = handles;
  output.document({ run: first?.request.run, dir: first?.request.folder, evaluations: told });
  for (const { evaluator, error } of told) {
    if (error !== undefined) output.note(`${evaluator} failed: ${escapeControls(error)}`);
  }
  printCellScores(
    output,
    told.flatMap(({ scores }) => scores),
  );
  return told.some(({ error }) => error !== undefined) ? EXIT.failed : EXIT.done;
}

async function outcomesOf(
  handles: readonly EvaluatorHandle[],
  { output, signal }: FollowCells,
): Promise<(Outcome | null)[]> {
  const over = new AbortController();
  const telling = tellReasons(handles, { output, signal: anySignal([signal, over.signal]) });
  try {
    return await Promise.all(handles.map((handle) => handle.result({ signal })));
  } finally {
    over.abort();
    // One that is still asking would ask a connection that is closed next.
    await telling;
  }
}

/** What they wait for, each reason once. */
async function tellReasons(
  handles: readonly EvaluatorHandle[],
  { output, signal }: FollowCells,
  told: ReadonlySet<string> = new Set(),
): Promise<void> {
  await pause(REASONS_MS, signal);
  if (signal.aborted) return;
  const reasons = await Promise.all(handles.map((handle) => handle.waitingReason()));
  const found = new Set(reasons.filter((reason) => reason !== null));
  for (const reason of found) if (!told.has(reason)) output.note(`Waiting: ${escapeControls(reason)}`);
  await tellReasons(handles, { output, signal }, new Set([...told, ...found]));
}

function endOf(outcome: Outcome | undefined): Pick<CellResult, 'scores' | 'error'> {
  if (!outcome) return { scores: [], error: 'nothing is known of its end' };
  if ('failure' in outcome) return { scores: [], error: outcome.failure.message };
  const { scores, error } = outcome.value;
  return { scores, ...(error !== undefined && { error }) };
}
