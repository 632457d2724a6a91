import type { RunEvent } from '../core/timeline';
import type { RunStore } from '../stores/run-store';

export interface RecordEventsInput {
  readonly run: string;
  readonly events: readonly RunEvent[] | undefined;
  readonly epoch: number;
}

/** Writes what happened to a run besides its steps. Rows that are there stay. */
export async function recordEvents(store: RunStore, input: RecordEventsInput): Promise<void> {
  const { run, events, epoch } = input;
  if (events === undefined || events.length === 0) return;
  const journal = await store.openJournal(run, 'events', { epoch });
  try {
    for (const event of events) journal.append(event);
  } finally {
    await journal.close();
  }
}
