import { carriedChanges } from '../core/controls/carried-changes';
import type { LivePause, RunState } from '../core/run';
import type { RunRecords } from './run-records';

/**
 * Why a run stands still, by the changes in its store: for whom the workflow does not answer. Null where it does not stand still.
 *
 * @param writtenAt when its files were last written, which a pause was the last to do
 */
export async function storedPause(
  records: Pick<RunRecords, 'readControls'>,
  { run, status, totalSteps }: Pick<RunState, 'run' | 'status' | 'totalSteps'>,
  writtenAt: string | null,
): Promise<LivePause | null> {
  if (status !== 'paused') return null;
  const { pause } = carriedChanges(await records.readControls(run), { totalSteps, evaluations: [] });
  if (pause === null) return null;
  const { seconds, ...told } = pause;
  const endsAt = writtenAt === null || seconds === null ? null : Date.parse(writtenAt) + seconds * 1000;
  return { ...told, since: writtenAt, until: endsAt === null ? null : new Date(endsAt).toISOString() };
}
