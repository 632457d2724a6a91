import type { ControlRow } from '../core/controls';
import type { RunStore } from '../stores/run-store';
import { requireOwner } from './require-owner';
import { requireRun } from './run-folder';

export interface RecordControlInput {
  readonly run: string;
  /** Rises with every write; the first part of the writer's lease. */
  readonly write: number;
  readonly row: ControlRow;
}

/** Writes a change somebody made. Repeating it changes nothing. */
export async function recordControl(
  store: RunStore,
  { run, row }: RecordControlInput,
  epoch: number,
): Promise<void> {
  await requireRun(store, run);
  await requireOwner(store, run, epoch);
  const journal = await store.openJournal(run, 'controls', { epoch });
  try {
    journal.append(row);
  } finally {
    await journal.close();
  }
}
