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

/**
 * Tries a regular expression of a row's: a plain one here and now, any other in a thread with a time limit, where exceeding
 * it is a DomainError and never an answer.
 */
export function tryPattern(
  question: PatternQuestion,
  { isPlain }: { readonly isPlain: boolean },
): PatternMatches | Promise<PatternMatches> {
  return isPlain ? tryHere(question) : thread.ask(question);
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
