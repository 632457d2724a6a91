import { join } from 'node:path';
import type { CellScore } from '../core/run';
import type { MeasuredModel } from './evaluators/evaluation-context';
import { createWholeFile, readJson } from '../stores/whole-file';

/** `cell.json`: the result of one evaluator at one step. Once there, it is final. */
export interface StoredCell {
  readonly scores: readonly CellScore[];
  /** When it became final. */
  readonly at: string;
  /** The weights it was measured on. */
  readonly model: MeasuredModel;
}

/** null while the cell has no result. */
export function readStoredCell(folder: string): Promise<StoredCell | null> {
  return readJson<StoredCell>(join(folder, 'cell.json'));
}

/** Stores a result unless there is one, and returns the one that counts. */
export async function storeCell(folder: string, cell: StoredCell): Promise<StoredCell> {
  const isFirst = await createWholeFile(join(folder, 'cell.json'), `${JSON.stringify(cell, null, 2)}\n`);
  return isFirst ? cell : ((await readStoredCell(folder)) ?? cell);
}
