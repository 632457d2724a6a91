import { AsyncLocalStorage } from 'node:async_hooks';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import { messageOf } from './error-message';
import { firstPlace, placesOfStack } from './foreign-places';

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

/** What threw where nobody waits for it, as a person is told; null where it was none of ours to tell. */
export function strayThrow(thrown: unknown): string | null {
  const work = current.getStore();
  if (!work) return null;
  const place = firstPlace(placesOfStack(thrown));
  const where = place === null ? '' : ` (at ${place})`;
  const what = `threw in a timer, an event or a callback, where nothing catches it: ${asSentence(`${messageOf(thrown)}${where}`)}`;
  if (!work.isOver) work.fail(new StrayThrow('bad-plugin', `It ${what}`));
  return `${work.subject}, ${work.isOver ? 'which is over' : 'which has failed by it'}, ${what}`;
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
  if (!work || work.isOver) return work?.subject ?? null;
  const guilty = work.counts;
  for (const note of notes) if (note !== guilty?.note) note.excuse();
  guilty?.blame(cause);
  return work.subject;
}
