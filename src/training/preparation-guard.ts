import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { watchStillness } from '../evaluation/stillness';
import { DomainError } from '../core/errors';
import { readJson, writeJson } from '../stores/whole-file';

interface PreparationMark {
  /** Attempts in a row before this one that ended without a word. */
  readonly deaths: number;
  /** What the last of them said that it had done. */
  readonly lastWords: string | null;
}

const MOST_DEATHS = 5;
/** An attempt whose event loop stood still for longer was taken for dead: its heartbeats stayed away. */
const LOST_AFTER_MS = 15_000;

interface GuardedPreparation {
  /** Of the run. */
  readonly folder: string;
  readonly onProgress: (what: string) => void;
  /** Milliseconds; default: of this machine. */
  readonly now?: () => number;
}

/**
 * Gives up on a run whose preparation takes the worker's process down with it, or stops it for so long that it is taken for dead, as an
 * enormous row, too little memory or code of a plug-in can.
 *
 * A mark lies in the run's folder (`.preparation.json`) while an attempt runs; one that is found there was left by a process that died.
 * An attempt that ends with an error of its own, however often it is repeated, leaves none.
 */
export async function guardPreparation<Result>(
  { folder, onProgress, now = () => performance.now() }: GuardedPreparation,
  work: (onProgress: (what: string) => void) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, '.preparation.json');
  const found = await readJson<PreparationMark>(path);
  const deaths = found ? found.deaths + 1 : 0;
  if (deaths >= MOST_DEATHS) {
    await rm(path, { force: true });
    throw tooDeadly(deaths, found?.lastWords ?? null);
  }
  await writeJson(path, { deaths, lastWords: found?.lastWords ?? null } satisfies PreparationMark);
  let noting = Promise.resolve();
  const note = (lastWords: string) => {
    onProgress(lastWords);
    // What comes again is looked at closely; a first attempt costs nothing.
    if (deaths > 0) noting = noting.then(() => writeJson(path, { deaths, lastWords })).catch(() => undefined);
  };
  const stillness = watchStillness(now);
  try {
    return await work(note);
  } finally {
    await noting;
    if (stillness.longestMs() < LOST_AFTER_MS) await rm(path, { force: true });
    stillness.stop();
  }
}

function tooDeadly(deaths: number, lastWords: string | null): DomainError {
  return new DomainError(
    'refused',
    `The worker's process died, or did nothing else for ${LOST_AFTER_MS / 1000} s, ${deaths} times in a row while this run was prepared${lastWords === null ? '' : `, last after "${lastWords}"`}. ` +
      'Look for an enormous row in its dataset, for process.exit or a loop without an end in its plug-ins, or give the worker more memory.',
  );
}
