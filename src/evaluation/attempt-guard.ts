import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../core/errors';
import { readJson, writeJson } from '../stores/whole-file';

interface AttemptMark {
  /** Attempts before this one that ended without a word, with nothing new in the cell's folder. */
  readonly deaths: number;
  readonly bytes: number;
}

const MOST_DEATHS = 5;

/**
 * Gives up on an evaluator that takes the worker's process down with it, as code of a plug-in can.
 *
 * A mark lies in the cell's folder (`attempt.json`) while an attempt runs; one that is found there was left by a
 * process that died. Deaths in a row count only while nothing new was journalled, so that workers killed for other
 * reasons never end an evaluation that gets on. `work` is told whether there was such a mark: its last worker was lost.
 */
export async function guardAttempt<Result>(
  folder: string,
  work: (isTakenUp: boolean) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, 'attempt.json');
  const bytes = await folderBytes(folder);
  const mark = await readJson<AttemptMark>(path);
  const deaths = mark?.bytes === bytes ? mark.deaths + 1 : 0;
  if (deaths >= MOST_DEATHS) {
    await rm(path, { force: true });
    throw new DomainError(
      'bad-plugin',
      `The worker's process died ${deaths} times in a row while this evaluator ran, before any new answer. ` +
        'Look for process.exit, uncaught errors in timers, or too much memory in its code.',
    );
  }
  await writeJson(path, { deaths, bytes } satisfies AttemptMark);
  try {
    return await work(mark !== null);
  } finally {
    await rm(path, { force: true });
  }
}

/** Of everything in the folder but the mark itself. */
async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && JOURNAL.test(entry.name));
  const sizes = await Promise.all(
    files.map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((total, size) => total + size, 0);
}

/** What readers see of a journal; leases and generations change with every attempt. */
const JOURNAL = /^[^.].*\.jsonl$/;
