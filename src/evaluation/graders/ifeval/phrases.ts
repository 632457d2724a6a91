import { WORD } from '../python-text';

/** The official checks use the phrases of the data as regular expressions; a phrase that is none is taken literally. */
export function phrasePattern(phrase: string, flags = 'giu'): RegExp {
  try {
    return new RegExp(phrase, flags);
  } catch {
    return new RegExp(literal(phrase), flags);
  }
}

/** The phrase between word boundaries, as `\b…\b` in Python, where combining marks are no part of a word. */
export function wordPattern(phrase: string): RegExp {
  const [first = '', last = ''] = [phrase.at(0), phrase.at(-1)];
  return phrasePattern(`${boundary(first, 'before')}(?:${phrase})${boundary(last, 'after')}`);
}

export function countMatches(text: string, pattern: RegExp): number {
  let count = 0;
  for (const match of text.matchAll(pattern)) count += match.index >= 0 ? 1 : 0;
  return count;
}

/** Between the phrase's outermost character and the text beside it, one must be of a word and the other not. */
function boundary(character: string, side: 'before' | 'after'): string {
  const look = side === 'before' ? '?<' : '?';
  return new RegExp(`[${WORD}]`, 'u').test(character) ? `(${look}![${WORD}])` : `(${look}=[${WORD}])`;
}

function literal(phrase: string): string {
  return phrase.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
