import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Slots } from '../core/concurrency/slots';
import { untilAborted } from '../core/concurrency/until-aborted';
import { DomainError } from '../core/errors';
import { readJson, writeJson } from '../stores/whole-file';

interface AttemptMark {
  /** Attempts before this one that ended without a word, with nothing new in the cell's folder. */
  readonly deaths: number;
  /** Those of them during which no other suspect was at work in the same process. */
  readonly deathsAlone: number;
  readonly bytes: number;
  readonly isAlone: boolean;
}

/** From then on a cell is suspected, and has its turn among the others that are: one of them is at work at a time. */
const SUSPECT_AFTER = 2;
const MOST_DEATHS_ALONE = 3;

const suspects = new Slots(1);

/**
 * Gives up on an evaluator that takes the worker's process down with it, as code of a plug-in can.
 *
 * A mark lies in the cell's folder (`attempt.json`) while an attempt runs; one that is found there was left by a
 * process that died. Deaths in a row count only while nothing new was journalled, so that workers killed for other
 * reasons never end an evaluation that gets on, and against it only those that it died alone: many are at work in one process, and
 * one of them takes all down. `work` is told whether there was such a mark: its last worker was lost.
 */
export async function guardAttempt<Result>(
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
  work: (isTakenUp: boolean) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, 'attempt.json');
  const found = await readJson<AttemptMark>(path);
  const mark = { ...countedUp(found, await folderBytes(folder)), isAlone: false };
  if (mark.deathsAlone >= MOST_DEATHS_ALONE) {
    await rm(path, { force: true });
    throw tooDeadly(mark);
  }
  await writeJson(path, mark satisfies AttemptMark);
  const attempt = () => work(found !== null);
  try {
    if (mark.deaths < SUSPECT_AFTER) return await attempt();
    const turn = suspects.run(async () => {
      signal.throwIfAborted();
      await writeJson(path, { ...mark, isAlone: true } satisfies AttemptMark);
      return attempt();
    });
    return await untilAborted(turn, signal);
  } finally {
    await rm(path, { force: true });
  }
}

/** What is known of the deaths before an attempt; nothing where there was none, or where the last one got on. A mark of an older release lacks fields. */
function countedUp(found: Partial<AttemptMark> | null, bytes: number): Omit<AttemptMark, 'isAlone'> {
  if (found?.bytes !== bytes) return { deaths: 0, deathsAlone: 0, bytes };
  const { deaths = 0, deathsAlone = 0, isAlone = false } = found;
  return { deaths: deaths + 1, deathsAlone: deathsAlone + Number(isAlone), bytes };
}

function tooDeadly({ deaths, deathsAlone }: Pick<AttemptMark, 'deaths' | 'deathsAlone'>): DomainError {
  return new DomainError(
    'bad-plugin',
    `The worker's process died ${deaths} times in a row while this evaluator ran, ${deathsAlone} of them while no other that was suspected did, before any new answer. ` +
      'Look for process.exit, uncaught errors in timers, or too much memory in its code.',
  );
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
