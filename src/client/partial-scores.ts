import path from 'node:path';
import { largestOf } from '../core/extremes';
import type { EvaluationCell } from '../core/run';
import { meanOf } from '../core/statistics/mean';
import type { Interval } from '../core/statistics/wilson-interval';
import { withinValues } from '../core/statistics/mean-interval';
import { wilsonInterval, Z_95 } from '../core/statistics/wilson-interval';
import { UNPARSED } from '../evaluation/judges/parsed-total';
import { readJsonLines } from '../stores/json-lines';

/** What an evaluation under way has so far. It is of the examples that are done, which may be the easy ones. */
interface PartialScore {
  readonly isPartial: true;
  /** Examples journalled. */
  readonly done: number;
  /** Mean over those; null where the evaluator gives none before its end. */
  readonly value: number | null;
  readonly stderr: number | null;
  /** 95 %. */
  readonly interval: Interval | null;
}

/** A cell, and what it has so far where it is under way. */
export interface ReportedCell extends EvaluationCell {
  readonly partial?: PartialScore;
}

interface JournalledRow {
  readonly key: string;
  readonly value?: number;
  readonly error?: string;
  readonly metrics?: Readonly<Record<string, number>>;
}

/** Stages of evaluators whose result is made of all rows together. */
const COUNTED = ['likelihoods', 'answers', 'calls'];
const UNFINISHED: readonly EvaluationCell['status'][] = ['running', 'pending', 'due'];
const NOTHING: PartialScore = { isPartial: true, done: 0, value: null, stderr: null, interval: null };

/** Those that may still give scores. */
export function unfinishedCells<Cell extends EvaluationCell>(cells: readonly Cell[]): Cell[] {
  return cells.filter(({ status }) => UNFINISHED.includes(status));
}

/** Adds to a cell under way, or due, what its journal holds; the others are final. */
export async function withPartialScore(cell: EvaluationCell, runFolder: string): Promise<ReportedCell> {
  if (!UNFINISHED.includes(cell.status)) return cell;
  const journal = path.join(runFolder, 'evals', String(cell.step), cell.evaluator, 'journal');
  const graded = await readJsonLines<JournalledRow>(path.join(journal, 'grades.jsonl'));
  if (graded.length > 0) return { ...cell, partial: scoreOf(graded) };
  const counts = await Promise.all(
    COUNTED.map(async (stage) => (await readJsonLines(path.join(journal, `${stage}.jsonl`))).length),
  );
  const done = Math.max(0, largestOf(counts));
  return done === 0 ? cell : { ...cell, partial: { ...NOTHING, done } };
}

/**
 * A sample that failed in an attempt is asked again: it counts once it is judged. One whose verdict cannot be read is done and in no
 * score, as in the result.
 */
function scoreOf(rows: readonly JournalledRow[]): PartialScore {
  const judged = new Map<string, number | null>();
  for (const { key, value, error, metrics } of rows) {
    if (error === undefined && typeof value === 'number')
      judged.set(key, metrics?.[UNPARSED] === 1 ? null : value);
  }
  const values = [...judged.values()].filter((value) => value !== null);
  const done = judged.size;
  const mean = meanOf(values);
  if (!mean) return { ...NOTHING, done };
  const stderr = mean.standardError;
  return {
    isPartial: true,
    done,
    value: mean.mean,
    stderr,
    interval: intervalOf(values, stderr),
  };
}

function intervalOf(values: readonly number[], stderr: number | null): Interval | null {
  const sum = values.reduce((total, value) => total + value, 0);
  if (values.every((value) => value === 0 || value === 1)) return wilsonInterval(sum, values.length);
  const mean = sum / values.length;
  return stderr === null ? null : withinValues([mean - Z_95 * stderr, mean + Z_95 * stderr], values);
}
