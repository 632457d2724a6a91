import { stat } from 'node:fs/promises';
import path from 'node:path';
import { carriedChanges } from '../core/controls/carried-changes';
import { largestOf } from '../core/extremes';
import type { LivePause, RunState } from '../core/run';
import type { RunRecords } from './run-records';

/** What the store says of a run whose workflow does not answer. */
export interface LeftInStore {
  /** When its files were last written; null where it has none. */
  readonly writtenAt: string | null;
  /** Why it stands still; null where it does not. */
  readonly storedPause: LivePause | null;
}

/** @param state null where the store does not know the run yet */
export async function leftInStore(
  records: Pick<RunRecords, 'readControls' | 'runFolder'>,
  run: string,
  state: RunState | null,
): Promise<LeftInStore> {
  const writtenAt = await lastWritten(records.runFolder(run));
  return { writtenAt, storedPause: state && (await pauseOf(records, state, writtenAt)) };
}

/** Work on the run shows in its files, whoever does it. */
async function lastWritten(folder: string): Promise<string | null> {
  const times = await Promise.all(
    ['state.json', 'metrics.jsonl'].map((name) =>
      stat(path.join(folder, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  const latest = largestOf(times);
  return latest === 0 ? null : new Date(latest).toISOString();
}

/** By the changes people made. A paused run writes nothing more, so that its files are as old as its pause. */
async function pauseOf(
  records: Pick<RunRecords, 'readControls'>,
  { run, status, totalSteps }: RunState,
  since: string | null,
): Promise<LivePause | null> {
  if (status !== 'paused') return null;
  const { pause } = carriedChanges(await records.readControls(run), { totalSteps, evaluations: [] });
  if (pause === null) return null;
  const { seconds, ...told } = pause;
  const endsAt = since === null || seconds === null ? null : Date.parse(since) + seconds * 1000;
  return { ...told, since, until: endsAt === null ? null : new Date(endsAt).toISOString() };
}
