import path from 'node:path';
import { largestOf } from '../core/extremes';
import type { EvaluationCell } from '../core/run';
import { meanOf } from '../core/statistics/mean';
import type { Interval } from '../core/statistics/wilson-interval';
import { isUnparsed } from '../evaluation/judges/parsed-total';
import { spreadOf } from '../evaluation/runner/score-spread';
import { readJsonLines } from '../stores/json-lines';

/** What an evaluation under way has so far. It is of the examples that are done, which may be the easy ones. */
interface PartialScore {
  readonly isPartial: true;
  /** Samples journalled. */
  readonly done: number;
  /** Mean over their examples of the means of those; null where the evaluator gives none before its end. */
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
  readonly example_id?: string;
  readonly value?: number;
  readonly error?: string;
  readonly truncation?: string;
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
 * score, as in the result; and as there, the score is the mean over examples of the means of their samples.
 */
function scoreOf(rows: readonly JournalledRow[]): PartialScore {
  const judged = judgedRows(rows);
  const done = judged.length;
  const byExample = new Map<string, number[]>();
  for (const { example, value } of judged) {
    if (value === null) continue;
    const values = byExample.get(example) ?? [];
    values.push(value);
    byExample.set(example, values);
  }
  if (byExample.size === 0 || isNoneRead(judged)) return { ...NOTHING, done };
  const samples = [...byExample.values()];
  const examples = samples.map((own) => ({ value: meanOf(own)?.mean ?? 0, cluster: null }));
  const { score, stderr, ci } = spreadOf(examples, {
    isBinary: samples.flat().every((value) => value === 0 || value === 1),
    isAskedOnce: samples.every(({ length }) => length === 1),
  });
  return { isPartial: true, done, value: score, stderr, interval: ci };
}

/** What was cut off was shown to no judge, so that a score of it alone would hide that no verdict could be read. */
function isNoneRead(judged: readonly JudgedRow[]): boolean {
  const isRead = judged.some(({ value, isCut }) => value !== null && !isCut);
  return !isRead && judged.some(({ value }) => value === null);
}

/** Of each sample what was said last. */
function judgedRows(rows: readonly JournalledRow[]): JudgedRow[] {
  const judged = new Map<string, JudgedRow>();
  for (const { key, example_id: example = key, value, error, truncation, metrics = {} } of rows) {
    if (error !== undefined || typeof value !== 'number') continue;
    const isCut = truncation !== undefined;
    judged.set(key, { example, value: isUnparsed({ metrics }) ? null : value, isCut });
  }
  return [...judged.values()];
}

interface JudgedRow {
  readonly example: string;
  /** null for a verdict that cannot be read. */
  readonly value: number | null;
  readonly isCut: boolean;
}
