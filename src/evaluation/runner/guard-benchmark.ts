import { join } from 'node:path';
import type { BenchmarkPlace } from '../../core/benchmark-run';
import type { AttemptStart } from '../attempt-guard';
import { guardAttempt } from '../attempt-guard';
import { resultFolder } from './benchmark-plan';

export interface GuardedWork {
  readonly place: BenchmarkPlace;
  /** Whose code it runs. */
  readonly plugins?: string | undefined;
  /** Of the part that is at work, where that is not the whole benchmark: its journals and its mark lie there. */
  readonly folder?: string;
}

export interface GuardedTry {
  /** Of the activity, from 1. */
  readonly attempt?: number;
  readonly signal: AbortSignal;
}

/** A plug-in file may keep its worker from everything else for ever, or take it down. Only what was begun before is looked after so: as a rule nothing is to be noted. */
export function guardBenchmark<Result>(
  { place, plugins, folder = resultFolder(place) }: GuardedWork,
  { attempt = 1, signal }: GuardedTry,
  work: (start: Pick<AttemptStart, 'signal'>) => Promise<Result>,
): Promise<Result> {
  if (attempt === 1) return work({ signal });
  const { run, benchmark } = place;
  return guardAttempt(
    {
      subject: `benchmark ${JSON.stringify(benchmark)} of eval run ${JSON.stringify(run)}`,
      called: plugins === undefined ? 'this benchmark' : `the code of ${JSON.stringify(plugins)}`,
      ...{ folder, markPath: join(folder, '.begun.json'), signal },
      givenUpPath: join(resultFolder(place), '.given-up.json'),
    },
    work,
  );
}
