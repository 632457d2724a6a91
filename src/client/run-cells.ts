import type { EvaluationCell } from '../core/run';
import { dueCells } from './due-cells';
import { CUT_OFF, mergeCells } from './merge-scores';
import { unfinishedCells } from './partial-scores';
import type { RunRecords } from './run-records';
import type { RunReport } from './run-report';
import { isClosed } from './run-report';

interface CellSources {
  /** Whether the server has the run's workflow as closed. */
  readonly isClosed: () => Promise<boolean>;
  /** What is due besides cells that are known, where the workflow says nothing of it. */
  readonly unheard: (known: readonly EvaluationCell[]) => Promise<EvaluationCell[]>;
}

/**
 * Every cell of a run, by its store and by what its workflow answers, if it does. One that was closed from outside still answers as
 * if it went on: what it had not finished was cut off.
 */
export async function allCells(
  stored: readonly EvaluationCell[],
  live: readonly EvaluationCell[] | null,
  sources: CellSources,
): Promise<EvaluationCell[]> {
  if (live === null) return mergeCells(stored, await sources.unheard(stored));
  const unfinished = unfinishedCells(live);
  if (unfinished.length === 0 || !(await sources.isClosed())) return mergeCells(stored, live);
  const cut = unfinished.map((cell) => ({ ...cell, ...CUT_OFF }));
  const finished = live.filter((cell) => !unfinished.includes(cell));
  const final = mergeCells(stored, [...cut, ...finished]);
  return mergeCells(final, await sources.unheard(final));
}

/** What is due while the workflow does not answer, and since when nothing was heard of it; or what the end of the run cut off. */
export async function unheardCells(
  records: RunRecords,
  report: RunReport | null,
  final: readonly EvaluationCell[],
): Promise<EvaluationCell[]> {
  if (!report || report.status === 'completed' || report.status === 'stopped') return [];
  const due = await dueCells(records, report, final);
  const outcome = isClosed(report) ? CUT_OFF : { heardAt: report.heardAt ?? null };
  return due.map((cell) => ({ ...cell, ...outcome }));
}
