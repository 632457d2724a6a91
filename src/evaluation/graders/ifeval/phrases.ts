import type { ReadingTime } from '../../../sandboxes/read-within';
import type { PatternMatches } from '../patterns/pattern-thread';
import { isPlain, requireShort, tryPattern } from '../patterns/try-pattern';
import { WORD } from '../python-text';

type MaybeLater<Value> = Value | Promise<Value>;

/** The official checks use the phrases of the data as regular expressions. */
interface Phrase {
  readonly text: string;
  /** With what of ours stands around it. */
  readonly source: string;
  readonly flags: string;
}

export function phraseIn(text: string, flags = 'iu'): Phrase {
  return { text, source: text, flags };
}

/** The phrase between word boundaries, as `\b…\b` in Python, where combining marks are no part of a word. */
export function wordIn(text: string): Phrase {
  const [first = '', last = ''] = [text.at(0), text.at(-1)];
  const source = `${boundary(first, 'before')}(?:${text})${boundary(last, 'after')}`;
  return { text, source, flags: 'iu' };
}

/** The phrase with a pattern of ours behind it. */
export function phraseBefore(text: string, rest: string): Phrase {
  return { text, source: `${text}${rest}`, flags: 'u' };
}

export function hasMatch(text: string, phrase: Phrase, time: ReadingTime): MaybeLater<boolean> {
  const found = tryPhrase({ text, isCounted: false }, phrase, time);
  return found instanceof Promise ? found.then(({ count }) => count > 0) : found.count > 0;
}

export function matchCount(text: string, phrase: Phrase, time: ReadingTime): MaybeLater<number> {
  const found = tryPhrase({ text, isCounted: true }, phrase, time);
  return found instanceof Promise ? found.then(({ count }) => count) : found.count;
}

interface Tried {
  readonly text: string;
  readonly isCounted: boolean;
}

/** A phrase that is no regular expression is taken literally. */
function tryPhrase(tried: Tried, phrase: Phrase, time: ReadingTime): MaybeLater<PatternMatches> {
  requireShort(phrase.source);
  const isTaken = time.read(() => isPattern(phrase));
  const source = isTaken ? phrase.source : literal(phrase.source);
  const flags = tried.isCounted ? `${phrase.flags}g` : phrase.flags;
  return tryPattern({ ...tried, source, flags }, { isPlain: !isTaken || isPlain(phrase.text), time });
}

function isPattern({ source, flags }: Phrase): boolean {
  try {
    return new RegExp(source, flags).flags !== '';
  } catch {
    return false;
  }
}

/** Between the phrase's outermost character and the text beside it, one must be of a word and the other not. */
function boundary(character: string, side: 'before' | 'after'): string {
  const look = side === 'before' ? '?<' : '?';
  return new RegExp(`[${WORD}]`, 'u').test(character) ? `(${look}![${WORD}])` : `(${look}=[${WORD}])`;
}

function literal(phrase: string): string {
  return phrase.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
