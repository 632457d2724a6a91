import { DomainError } from '../../../core/errors';
import type { ReadingTime } from '../../../sandboxes/read-within';
import type { PatternMatches, PatternQuestion } from './pattern-thread';
import { PatternThread } from './pattern-thread';

/** Shared by all graders of this process on purpose: one thread, started by the first pattern that needs it. */
const thread = new PatternThread();

/** Characters that repeat, group or choose; a row's text without them takes time that grows with the text alone. */
const IS_PLAIN = /^[^\\^$*+?()[\]{}|]{0,200}$/;

/** Whether a text of a row, taken as a regular expression, takes no longer than looking for a word. */
export function isPlain(source: string): boolean {
  return IS_PLAIN.test(source);
}

/** Nothing ends the reading of a pattern once it has begun, and one of characters by their properties takes 0.1 ms a character. */
const LONGEST_PATTERN = 10_000;

/** Whatever is to become a pattern is asked for its length before. */
export function requireShort(source: string): void {
  if (source.length <= LONGEST_PATTERN) return;
  throw new DomainError(
    'bad-dataset',
    `example: a regular expression has ${source.length} characters, and ${LONGEST_PATTERN} are as many as are tried: ${JSON.stringify(source.slice(0, 60))}…. Write a shorter one.`,
    { category: 'user' },
  );
}

interface Trying {
  readonly isPlain: boolean;
  /** For all patterns of a row together. */
  readonly time: ReadingTime;
}

/**
 * Tries a regular expression of a row's: a plain one here and now, any other in a thread with a time limit, where exceeding
 * it is a DomainError and never an answer. Where all patterns together take too long, a TooLongToRead is thrown.
 */
export function tryPattern(
  question: PatternQuestion,
  { isPlain, time }: Trying,
): PatternMatches | Promise<PatternMatches> {
  return isPlain ? time.read(() => tryHere(question)) : tryElsewhere(question, time);
}

async function tryElsewhere(question: PatternQuestion, time: ReadingTime): Promise<PatternMatches> {
  const { usedMs, ...matches } = await thread.ask(question, time.leftMs);
  time.take(usedMs);
  return matches;
}

function tryHere({ source, flags, text, isCounted }: PatternQuestion): PatternMatches {
  if (!isCounted) {
    const first = new RegExp(source, flags.replace('g', '')).exec(text);
    return { count: first ? 1 : 0, first };
  }
  let count = 0;
  for (const match of text.matchAll(new RegExp(source, flags))) count += match.index >= 0 ? 1 : 0;
  return { count, first: null };
}
