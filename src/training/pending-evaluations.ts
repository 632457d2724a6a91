import { readStoredCell } from '../evaluation/stored-cell';
import type { RunStore } from '../stores/run-store';
import type { FinishedCell, FinishedCells } from './record-scores';
import { identityOf } from '../core/same-evaluation';
import { requireRun } from './run-folder';

export interface PendingCells {
  readonly step: number;
  readonly request?: number;
  readonly late?: string;
  readonly attempt: number;
  readonly workflowId: string;
  readonly evaluators: readonly string[];
}

/** What became of one evaluation: its cells, or the news that nobody works on it any more. Neither while it runs. */
export interface EvaluationOutcome {
  readonly step: number;
  readonly request?: number;
  readonly late?: string;
  readonly finished: FinishedCells | null;
  readonly isGone: boolean;
}

const MAX_ATTEMPTS = 3;

/** Takes finished cells from the store, and finds the evaluations whose workflow ended without finishing them. */
export async function settleEvaluations(
  store: RunStore,
  input: { readonly run: string; readonly pending: readonly PendingCells[] },
  isRunning: (workflowId: string) => Promise<boolean>,
): Promise<readonly EvaluationOutcome[]> {
  await requireRun(store, input.run);
  const outcomes = await Promise.all(
    input.pending.map((pending) => settle(store, { run: input.run, pending }, isRunning)),
  );
  return outcomes.filter((outcome) => outcome.isGone || outcome.finished !== null);
}

async function settle(
  store: RunStore,
  { run, pending }: { readonly run: string; readonly pending: PendingCells },
  isRunning: (workflowId: string) => Promise<boolean>,
): Promise<EvaluationOutcome> {
  const { step, evaluators } = pending;
  const evaluation = identityOf(pending);
  if (await isRunning(pending.workflowId)) return { ...evaluation, finished: null, isGone: false };

  const cells = await Promise.all(
    evaluators.map(async (evaluator): Promise<FinishedCell> => {
      const stored = await readStoredCell(store.cellFolder(run, step, evaluator));
      if (stored) return { evaluator, scores: stored.scores, at: stored.at };
      return { evaluator, scores: [], at: new Date().toISOString(), error: ENDED };
    }),
  );
  const isMissing = cells.some(({ error }) => error !== undefined);
  if (isMissing && pending.attempt < MAX_ATTEMPTS) return { ...evaluation, finished: null, isGone: true };
  return { ...evaluation, finished: { ...evaluation, cells }, isGone: false };
}

const ENDED = `its workflow was ended ${MAX_ATTEMPTS} times without a result`;
