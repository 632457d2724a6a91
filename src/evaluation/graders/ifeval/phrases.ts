import { WORD } from '../python-text';
import { isPlain, tryPattern } from '../patterns/try-pattern';

type MaybeLater<Value> = Value | Promise<Value>;

/** The official checks use the phrases of the data as regular expressions; a phrase that is none is taken literally. */
interface Phrase {
  readonly source: string;
  readonly flags: string;
  readonly isPlain: boolean;
}

export function phraseIn(text: string, flags = 'iu'): Phrase {
  return phraseOf(text, text, flags);
}

/** The phrase between word boundaries, as `\b…\b` in Python, where combining marks are no part of a word. */
export function wordIn(text: string): Phrase {
  const [first = '', last = ''] = [text.at(0), text.at(-1)];
  return phraseOf(text, `${boundary(first, 'before')}(?:${text})${boundary(last, 'after')}`, 'iu');
}

/** The phrase with a pattern of ours behind it. */
export function phraseBefore(text: string, rest: string): Phrase {
  return phraseOf(text, `${text}${rest}`, 'u');
}

export function hasMatch(text: string, phrase: Phrase): MaybeLater<boolean> {
  const { source, flags } = phrase;
  const found = tryPattern({ source, flags, text, isCounted: false }, phrase);
  return found instanceof Promise ? found.then(({ count }) => count > 0) : found.count > 0;
}

export function matchCount(text: string, phrase: Phrase): MaybeLater<number> {
  const { source, flags } = phrase;
  const found = tryPattern({ source, flags: `${flags}g`, text, isCounted: true }, phrase);
  return found instanceof Promise ? found.then(({ count }) => count) : found.count;
}

function phraseOf(text: string, source: string, flags: string): Phrase {
  if (isPattern(source, flags)) return { source, flags, isPlain: isPlain(text) };
  return { source: literal(source), flags, isPlain: true };
}

function isPattern(source: string, flags: string): boolean {
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
