import { join } from 'node:path';
import type { AttemptStart } from '../../evaluation/attempt-guard';
import { guardAttempt } from '../../evaluation/attempt-guard';

interface GuardedOpening {
  readonly run: string;
  /** Of the run. */
  readonly folder: string;
  /** In the folder: where the mark lies, and what is journalled with what is opened. */
  readonly places: { readonly mark: string; readonly journals: string };
  /** As the reason calls it where no file is named, e.g. `its environment`. */
  readonly what: string;
  /** Of its config. */
  readonly plugins: () => Promise<string | undefined>;
}

interface GuardedTry {
  /** Of the activity, from 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/**
 * Gives up on a run whose plug-in file takes the worker's process down where it is loaded, before rollouts are played or steps are
 * trained with it; a loss of its own also later. Only a shard or a segment that was begun before is looked after so: as a rule nothing is to be noted.
 */
export async function guardOpening<Result>(
  { run, folder, places: { mark, journals }, what, plugins }: GuardedOpening,
  { attempt, signal }: GuardedTry,
  work: (start: Pick<AttemptStart, 'signal'>) => Promise<Result>,
): Promise<Result> {
  if (attempt === 1) return work({ signal });
  const file = await plugins();
  return guardAttempt(
    {
      subject: `the plug-in file of run ${JSON.stringify(run)}`,
      called: file === undefined ? what : `the code of ${JSON.stringify(file)}`,
      ...{ folder: join(folder, journals), markPath: join(folder, mark), signal },
      givenUpPath: join(folder, '.opening-given-up.json'),
    },
    work,
  );
}
