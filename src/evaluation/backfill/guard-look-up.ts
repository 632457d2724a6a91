import { join } from 'node:path';
import type { BackfillRequest } from '../../core/backfill';
import { guardAttempt } from '../attempt-guard';
import { digestOf } from '../digest';

/** Of one benchmark. */
interface LookUp extends Pick<BackfillRequest, 'store' | 'asking' | 'checkpoints'> {
  readonly benchmark: string;
}

export interface LookUpTry {
  /** Of the backfill. */
  readonly workflowId: string;
  /** Of the activity, from 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** As for a benchmark: its plug-in file is loaded here first. The mark lies with the backfills of the store. */
export function guardLookUp<Result>(
  { store, benchmark, checkpoints, asking: { plugins } }: LookUp,
  { workflowId, attempt, signal }: LookUpTry,
  work: () => Promise<Result>,
): Promise<Result> {
  if (attempt === 1) return work();
  const folder = join(store, 'backfills', '.look-ups');
  const part = digestOf([workflowId, benchmark, checkpoints.map(({ evalRun }) => evalRun)]);
  return guardAttempt(
    {
      subject: `look-up of benchmark ${JSON.stringify(benchmark)} for ${workflowId}`,
      called: plugins === undefined ? 'this benchmark' : `the code of ${JSON.stringify(plugins)}`,
      // It journals nothing.
      ...{ folder: join(folder, part), markPath: join(folder, `${part}.json`), signal },
      givenUpPath: join(folder, `given-up-${digestOf([workflowId, benchmark])}.json`),
    },
    work,
  );
}
