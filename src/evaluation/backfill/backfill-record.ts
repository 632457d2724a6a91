import { join } from 'node:path';
import type { MatrixCell } from '../../core/backfill';
import { validateName } from '../../core/names';
import { readJson, writeJson } from '../../stores/whole-file';

/** `<store>/backfills/<name>.json`: how a backfill stood when it was last written, for when no server answers. */
export interface BackfillRecord {
  readonly name: string;
  /** ISO time. */
  readonly at: string;
  readonly cells: readonly MatrixCell[];
}

export function writeBackfillRecord(store: string, record: BackfillRecord): Promise<void> {
  return writeJson(pathOf(store, record.name), record);
}

/** null where a backfill of this name has written nothing yet. */
export function readBackfillRecord(store: string, name: string): Promise<BackfillRecord | null> {
  return readJson<BackfillRecord>(pathOf(store, name));
}

function pathOf(store: string, name: string): string {
  return join(store, 'backfills', `${validateName('Backfill', name)}.json`);
}
