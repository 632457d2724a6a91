import { DomainError } from '../core/errors';
import type { RunState } from '../core/run';
import { shellWord } from '../core/shell-word';
import { leftInStore } from './left-in-store';
import type { RunRecords } from './run-records';
import { FRESH_MS, isClosed } from './run-report';

export interface TakeOverOptions {
  /** A person says that the server which had the run is gone for good: nobody can ask it from here. */
  readonly isServerGone?: boolean | undefined;
}

/**
 * Refuses to take over a run that another server may work on: one whose files are fresh, and one that stands still by what
 * its store says, as that writes nothing however long it lives. Else says when it was heard of last; null where nobody knows.
 */
export async function refuseAlive(
  records: RunRecords,
  state: RunState,
  { isServerGone = false }: TakeOverOptions = {},
): Promise<string | null> {
  const { run } = state;
  const { writtenAt, storedWait } = await leftInStore(records, run, state);
  if (isClosed(state)) return writtenAt;
  const age = writtenAt === null ? Infinity : Date.now() - Date.parse(writtenAt);
  if (age < FRESH_MS) throw isFresh(run, age);
  const standing = state.status === 'running' ? storedWait && 'waiting' : state.status;
  if (standing !== null && !isServerGone) throw isStanding(run, standing);
  return writtenAt;
}

function isFresh(run: string, age: number): DomainError {
  return new DomainError(
    'run-exists',
    `Run "${run}" is not on this Temporal server, and its files were written ${Math.max(0, Math.round(age / 1000))} s ago: another server works on it. Give that one's --data-dir or TEMPORAL_ADDRESS. If it is gone, ask again a minute after its last sign of life.`,
  );
}

function isStanding(run: string, standing: string): DomainError {
  return new DomainError(
    'run-exists',
    `Run "${run}" is ${standing}, by its state in the store, and not on this Temporal server: another server may have it, which writes nothing meanwhile. Go on with it there, with that one's --data-dir or TEMPORAL_ADDRESS. If that server is gone for good, say so: \`npx everstep train --run ${shellWord(run)} --continue --server-gone\`, or \`npx everstep recover --server-gone\` for all.`,
  );
}
