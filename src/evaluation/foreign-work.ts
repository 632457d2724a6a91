import { AsyncLocalStorage } from 'node:async_hooks';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import { messageOf } from './error-message';
import { thrownAt } from './thrown-at';

/** Counts what processes died with. What it notes is written at once: the process ends after it. */
export interface DeathNote {
  /** The process ends because of other work: that it ends says nothing of this. */
  excuse(): void;
}

/** What is not said is that of the work around it. */
export interface ForeignWork {
  /** As a person calls it: `evaluator "mine" of step 3 of run "first"`. */
  readonly subject?: string;
  readonly counts?: {
    readonly note: DeathNote;
    /** The process ends because of this work. */
    readonly blame: (cause: string) => void;
  };
}

interface WorkInHand extends ForeignWork {
  readonly subject: string;
  isOver: boolean;
  readonly fail: (error: Error) => void;
}

/** What was thrown where nobody waits for it. */
export class StrayThrow extends DomainError {}

/** Follows what a call begins, also into its timers and events. */
const current = new AsyncLocalStorage<WorkInHand>();
const notes = new Set<DeathNote>();

/** From then on, until what is returned is called, the note is told when the process ends because of other work. */
export function keepNote(note: DeathNote): () => void {
  notes.add(note);
  return () => {
    notes.delete(note);
  };
}

/**
 * Runs code that is not ours in a process that others share. What it throws where nobody waits for it, as in a timer, becomes its
 * failure instead of everybody's end; where it keeps the process from everything else, it is known whose doing that was.
 */
export async function runForeign<Result>(work: ForeignWork, run: () => Promise<Result>): Promise<Result> {
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  const held: WorkInHand = {
    subject: 'code of a plug-in',
    ...current.getStore(),
    ...work,
    isOver: false,
    fail,
  };
  try {
    return await Promise.race([current.run(held, run), failed]);
  } finally {
    held.isOver = true;
  }
}

export interface StrayWork {
  readonly subject: string;
  /** What it did, as a person is told. */
  readonly text: string;
}

/** Whose doing it is that this was thrown where nobody waits for it, which fails by it; null where it was none of ours to tell. */
export function strayThrow(thrown: unknown): StrayWork | null {
  const work = current.getStore();
  if (!work) return null;
  const place = thrownAt(thrown);
  const where = place === null ? '' : ` (at ${place})`;
  const what = `threw in a timer, an event or a callback, where nothing catches it: ${asSentence(`${messageOf(thrown)}${where}`)}`;
  if (!work.isOver) work.fail(new StrayThrow('bad-plugin', `It ${what}`));
  const { subject, isOver } = work;
  return { subject, text: `${subject}, ${isOver ? 'which is over' : 'which has failed by it'}, ${what}` };
}

/** Node.js does not say whose a microtask was that threw: where code that is not ours queues one, it is told here. */
export function watchMicrotasks(onThrown: (error: unknown) => void): void {
  const queue = queueMicrotask;
  globalThis.queueMicrotask = (callback) => {
    if (current.getStore() === undefined || typeof callback !== 'function') {
      queue(callback);
      return;
    }
    queue(() => {
      try {
        callback();
      } catch (error) {
        onThrown(error);
      }
    });
  };
}

/** What is at work where this is called; null for nothing that is not ours. */
export function nameWorkInHand(): string | null {
  return current.getStore()?.subject ?? null;
}

/** Where code that is not ours asks for the end of the process that all share, it gets an error instead. */
export function refuseExits(): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    if (current.getStore() === undefined) return exit(code);
    throw new DomainError(
      'bad-plugin',
      'process.exit() would end the worker, which others share. Throw an error instead.',
    );
  };
}

/** Notes whose doing the end of the process is, where that is known; what it was, as a person is told. */
export function blameWorkInHand(cause: string): string | null {
  const work = current.getStore();
  if (!work) return null;
  // What a finished evaluator left behind is nobody's any more who counts.
  const guilty = work.isOver ? null : work.counts;
  for (const note of notes) if (note !== guilty?.note) note.excuse();
  guilty?.blame(cause);
  return work.subject;
}
