import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { CellScore } from '../core/run';
import { loadResult } from '../stores/eval-store';
import type { MeasuredModel } from './evaluators/evaluation-context';
import { createWholeFile, readJson } from '../stores/whole-file';

/** `cell.json`: the result of one evaluator at one step. Once there, it is final. */
export interface StoredCell {
  readonly scores: readonly CellScore[];
  /** When it became final. */
  readonly at: string;
  /** The weights it was measured on. */
  readonly model: MeasuredModel;
  /** Digest of what its scores are made from beside the weights, data by its content; cells of 0.1 have none. */
  readonly madeFrom?: string;
}

/** null while the cell has no result. */
export function readStoredCell(folder: string): Promise<StoredCell | null> {
  return readJson<StoredCell>(join(folder, 'cell.json'));
}

/** Scores of a cell that anybody may have written; null where it has none that can be read. */
export async function readCellScores(folder: string): Promise<readonly CellScore[] | null> {
  const cell: Partial<StoredCell> | null = await readStoredCell(folder).catch(() => null);
  const scores: unknown = cell?.scores;
  return Array.isArray(scores) && scores.every(isScore) ? scores : null;
}

function isScore(score: unknown): score is CellScore {
  if (typeof score !== 'object' || score === null) return false;
  const fields = new Map<string, unknown>(Object.entries(score));
  const value = fields.get('value');
  const isValue = value === null || typeof value === 'number';
  return isValue && typeof fields.get('key') === 'string' && typeof fields.get('n') === 'number';
}

/** Stores a result unless there is one, and returns the one that counts. */
export async function storeCell(folder: string, cell: StoredCell): Promise<StoredCell> {
  const isFirst = await createWholeFile(join(folder, 'cell.json'), `${JSON.stringify(cell, null, 2)}\n`);
  return isFirst ? cell : ((await readStoredCell(folder)) ?? cell);
}

/** A result with errors is none where somebody asks for it again by name: what failed is tried once more. */
export async function reopenCell(folder: string): Promise<void> {
  const result = await loadResult(dirname(folder), basename(folder));
  if (result && result.num_errors > 0) await rm(join(folder, 'cell.json'), { force: true });
}
