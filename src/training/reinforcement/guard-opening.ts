import { join } from 'node:path';
import { guardAttempt } from '../../evaluation/attempt-guard';

interface GuardedOpening {
  readonly run: string;
  /** Of the run. */
  readonly folder: string;
  readonly step: number;
  readonly firstGroup: number;
  /** Of its config. */
  readonly plugins: () => Promise<string | undefined>;
}

interface GuardedTry {
  /** Of the activity, from 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/**
 * Gives up on a run whose plug-in file takes the worker's process down where rollouts are to be played, before any is. Only a shard
 * that was begun before is looked after so: as a rule nothing is to be noted.
 */
export async function guardOpening<Result>(
  { run, folder, step, firstGroup, plugins }: GuardedOpening,
  { attempt, signal }: GuardedTry,
  work: () => Promise<Result>,
): Promise<Result> {
  if (attempt === 1) return work();
  const file = await plugins();
  const rollouts = join(folder, 'rollouts', String(step));
  return guardAttempt(
    {
      subject: `the environment of run ${JSON.stringify(run)}`,
      called: file === undefined ? 'its environment' : `the code of ${JSON.stringify(file)}`,
      ...{ folder: rollouts, markPath: join(rollouts, `.opening-${firstGroup}.json`), signal },
      givenUpPath: join(folder, '.opening-given-up.json'),
    },
    work,
  );
}
