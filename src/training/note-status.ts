import type { RunStatus } from '../core/run';
import type { RunEvent } from '../core/timeline';
import type { RunStore } from '../stores/run-store';
import { recordEvents } from './record-events';
import { requireOwner } from './require-owner';
import { requireRun } from './run-folder';

export interface NoteStatusInput {
  readonly run: string;
  readonly status: Extract<RunStatus, 'paused' | 'running'>;
  readonly step: number;
  /** What happened since the last segment. */
  readonly events: readonly RunEvent[];
  /** Rises with everything that writes the run's journals. */
  readonly segment: number;
}

/** The store answers for the run while nothing else does, so it is told when the run stands still. */
export async function noteStatus(
  store: RunStore,
  { run, status, step, events }: NoteStatusInput,
  epoch: number,
): Promise<void> {
  await requireRun(store, run);
  await requireOwner(store, run, epoch);
  await recordEvents(store, { run, events, epoch });
  const state = await store.readState(run);
  if (state) await store.writeState(run, { ...state, status, step: Math.max(state.step, step) });
}
