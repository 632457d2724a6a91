import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Slots } from '../core/concurrency/slots';
import { untilAborted } from '../core/concurrency/until-aborted';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import { readJson, writeJson, writeJsonNow } from '../stores/whole-file';
import { keepNote, runForeign } from './foreign-work';
import { watchStillness } from './stillness';
import { linkedAbort } from './linked-abort';

interface AttemptMark {
  /** Attempts before this one that ended without a word, with nothing new in the cell's folder. */
  readonly deaths: number;
  /** Those of them during which no other suspect was at work in the same process. */
  readonly deathsAlone: number;
  readonly bytes: number;
  readonly isAlone: boolean;
  readonly blamed?: Blamed;
}

/** Processes that are known to have ended because of it, whatever was new, and how the last one did. */
interface Blamed {
  readonly count: number;
  readonly cause: string;
}

/** From then on a cell is suspected, and has its turn among the others that are: one of them is at work at a time. */
const SUSPECT_AFTER = 2;
const MOST_DEATHS_ALONE = 3;
const MOST_BLAMED = 2;

/** Without heartbeats for so long an attempt is begun again elsewhere. */
const LOST_AFTER_MS = 10_000;

const suspects = new Slots(1);

interface GuardedAttempt {
  /** As a person calls it. */
  readonly subject: string;
  /** Of the cell. */
  readonly folder: string;
  /** Where the mark lies; default: `attempt.json` of the folder. */
  readonly markPath?: string;
  /** As the reason calls what is given up; default: `this evaluator`. */
  readonly called?: string;
  /** Where it is kept that the evaluator was given up, for its other cells: those have one try less. */
  readonly givenUpPath: string;
  readonly signal: AbortSignal;
  /** Milliseconds; default: of this machine. */
  readonly now?: () => number;
}

/** What is known of an attempt's beginning. */
export interface AttemptStart {
  /** The worker before was lost with it. */
  readonly isTakenUp: boolean;
  /** Ends also with what the evaluator throws where nobody waits for it. */
  readonly signal: AbortSignal;
}

/**
 * Gives up on an evaluator that takes the worker's process down with it, as code of a plug-in can.
 *
 * A mark lies in the cell's folder while an attempt runs; one that is found there was left by a
 * process that died. Where it is known whose doing that was, only that one counts. Else deaths in a row count only while nothing new
 * was journalled, so that workers killed for other reasons never end an evaluation that gets on, and against it only those that it
 * died alone: many are at work in one process, and one of them takes all down.
 */
export async function guardAttempt<Result>(
  given: GuardedAttempt,
  work: (start: AttemptStart) => Promise<Result>,
): Promise<Result> {
  const { subject, folder, givenUpPath, signal, now } = given;
  const path = markPathOf(given);
  const found = await readJson<AttemptMark>(path);
  const blamed = found?.blamed ?? (await readJson<Blamed>(givenUpPath));
  const known: AttemptMark = {
    ...countedUp(found, await folderBytes(folder)),
    isAlone: false,
    ...(blamed && { blamed }),
  };
  const reason = whyNoMore(known, given);
  if (reason !== null) {
    if (blamed) await writeJson(givenUpPath, { ...blamed, count: MOST_BLAMED - 1 } satisfies Blamed);
    await rm(path, { force: true });
    throw new DomainError('bad-plugin', reason);
  }
  let mark = known;
  await writeJson(path, mark);
  const stillness = watchStillness(now);
  const note = {
    excuse: () => {
      writeJsonNow(path, { ...mark, deaths: mark.deaths - 1, isAlone: false } satisfies AttemptMark);
    },
  };
  const blame = (cause: string) => {
    const count = (mark.blamed?.count ?? 0) + 1;
    writeJsonNow(path, { ...mark, blamed: { count, cause } } satisfies AttemptMark);
  };
  const dropNote = keepNote(note);
  const callOff = linkedAbort(signal);
  const start = { isTakenUp: found !== null, signal: callOff.signal };
  const attempt = async () => {
    const result = await runForeign({ subject, counts: { note, blame } }, () => work(start));
    if (blamed) await rm(givenUpPath, { force: true });
    return result;
  };
  try {
    if (mark.deaths < SUSPECT_AFTER) return await attempt();
    const turn = suspects.run(async () => {
      signal.throwIfAborted();
      mark = { ...mark, isAlone: true };
      await writeJson(path, mark);
      return attempt();
    });
    return await untilAborted(turn, signal);
  } catch (error) {
    callOff.abort(error);
    throw error;
  } finally {
    callOff.release();
    dropNote();
    // Whoever was taken for dead leaves its mark to the attempt that has taken over.
    if (!signal.aborted || stillness.longestMs() < LOST_AFTER_MS) await rm(path, { force: true });
    stillness.stop();
  }
}

function markPathOf({ folder, markPath = join(folder, 'attempt.json') }: GuardedAttempt): string {
  return markPath;
}

/** What is known of the deaths before an attempt; of those nobody is blamed for, nothing where the last one got on. A mark of an older release lacks fields. */
function countedUp(
  found: Partial<AttemptMark> | null,
  bytes: number,
): Omit<AttemptMark, 'isAlone' | 'blamed'> {
  if (found?.bytes !== bytes) return { deaths: 0, deathsAlone: 0, bytes };
  const { deaths = 0, deathsAlone = 0, isAlone = false } = found;
  return { deaths: deaths + 1, deathsAlone: deathsAlone + Number(isAlone), bytes };
}

function whyNoMore(
  { deaths, deathsAlone, blamed }: AttemptMark,
  { called = 'this evaluator' }: GuardedAttempt,
): string | null {
  if (blamed && blamed.count >= MOST_BLAMED)
    return `The worker's process was ended because of ${called}, again and again: ${asSentence(blamed.cause)}`;
  if (deathsAlone < MOST_DEATHS_ALONE) return null;
  return (
    `The worker's process died ${deaths} times in a row while ${called} ran, or was taken for dead because it did nothing else for ${LOST_AFTER_MS / 1000} s, ${deathsAlone} of them while no other that was suspected did, before any new answer. ` +
    "Look for too much memory in its code, for what kills the process, for execSync without a time limit, or for long pieces of work between which it does not give the event loop back, as `await setImmediate()` of node:timers/promises does; the worker's log says more."
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
