import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Budget } from '../core/controls/budget';
import { NO_BUDGET } from '../core/controls/budget';
import type { CarriedChanges } from '../core/controls/carried-changes';
import { carriedChanges } from '../core/controls/carried-changes';
import { largestOf } from '../core/extremes';
import type { LivePause, LiveStatus, RunState } from '../core/run';
import { givenLimits } from '../training/given-limits';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';

/** What the store says of a run whose workflow does not answer. */
export interface LeftInStore {
  /** When its files were last written; null where it has none. */
  readonly writtenAt: string | null;
  /** Why it stands still; null where it does not. */
  readonly storedPause: LivePause | null;
  /** What it was waiting for as it was last written of; null where it was not. */
  readonly storedWait: LiveStatus['waitingFor'];
  /** The limits that people set, in its config or later; null where they set none. */
  readonly storedBudget: Budget | null;
}

/** @param state null where the store does not know the run yet */
export async function leftInStore(
  records: Pick<RunRecords, 'readConfig' | 'readControls' | 'readEvents' | 'runFolder'>,
  run: string,
  state: RunState | null,
): Promise<LeftInStore> {
  const writtenAt = await lastWritten(records.runFolder(run));
  if (state === null) return { writtenAt, storedPause: null, storedWait: null, storedBudget: null };
  const { totalSteps } = state;
  const { pause, budget } = carriedChanges(await records.readControls(run), { totalSteps, evaluations: [] });
  return {
    writtenAt,
    storedPause: pauseOf(state, pause, writtenAt),
    storedWait: state.status === 'running' ? await lastWait(records, run) : null,
    storedBudget: budget ?? (await configuredBudget(records, run)),
  };
}

/** A wait begins with an event, and ends with one. */
async function lastWait(
  records: Pick<RunRecords, 'readEvents'>,
  run: string,
): Promise<LiveStatus['waitingFor']> {
  const ends = ['opened', 'ended', 'continued', 'went on', 'paused', 'resumed'];
  const last = (await records.readEvents(run)).findLast(
    ({ kind }) => kind === 'waiting' || ends.includes(kind),
  );
  return last?.kind === 'waiting' ? { what: last.text, since: last.at } : null;
}

async function configuredBudget(
  records: Pick<RunRecords, 'readConfig'>,
  run: string,
): Promise<Budget | null> {
  const record = await records.readConfig<Partial<RunRecord>>(run).catch(() => null);
  const budget = record?.config?.budget;
  return budget ? { ...NO_BUDGET, ...givenLimits(budget) } : null;
}

/** Work on the run shows in its files, whoever does it. */
async function lastWritten(folder: string): Promise<string | null> {
  const times = await Promise.all(
    ['state.json', 'metrics.jsonl', 'events.jsonl'].map((name) =>
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
function pauseOf(
  { status }: RunState,
  pause: CarriedChanges['pause'],
  since: string | null,
): LivePause | null {
  if (status !== 'paused' || pause === null) return null;
  const { seconds, ...told } = pause;
  const endsAt = since === null || seconds === null ? null : Date.parse(since) + seconds * 1000;
  return { ...told, since, until: endsAt === null ? null : new Date(endsAt).toISOString() };
}
