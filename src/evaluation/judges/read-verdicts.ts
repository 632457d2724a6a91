import { READ_FORMS, verdictPattern } from './verdict-forms';

const GRADE = verdictPattern(READ_FORMS.grade);
const PAIR_LABEL = verdictPattern(READ_FORMS.pair);
const TAGGED_SCORE = verdictPattern(READ_FORMS.score);
const DOUBLE_BRACKET_NUMBER = /\[\[(\d+)\]\]/;
const NAMED_RATING = /Rating:\s*(\d+)/i;
/** Signs, exponents and other digits than these are how nobody was asked to write it. */
const PLAIN_DECIMAL = /^(?:\d+(?:\.\d*)?|\.\d+)$/;

/** The letter of the last `GRADE: X`; null where there is none, or it was not offered. */
export function readGrade(text: string, offered: readonly string[]): string | null {
  const last = [...text.matchAll(GRADE)].at(-1)?.[1]?.toUpperCase();
  return last !== undefined && offered.includes(last) ? last : null;
}

/** As tinker-cookbook reads it: the first `[[n]]`, else the first `Rating: n`; whole numbers. */
export function readRating(text: string): number | null {
  const found = DOUBLE_BRACKET_NUMBER.exec(text) ?? NAMED_RATING.exec(text);
  return found?.[1] === undefined ? null : Number(found[1]);
}

/** The number in the last `<score>`; null where that is no plain decimal, or is not from 0 to 1. */
export function readTaggedScore(text: string): number | null {
  const inner = [...text.matchAll(TAGGED_SCORE)].at(-1)?.[1]?.trim() ?? '';
  const score = PLAIN_DECIMAL.test(inner) ? Number(inner) : NaN;
  return score >= 0 && score <= 1 ? score : null;
}

export type PairLabel = 'A' | 'B' | 'tie';

/** The last `[[A]]`, `[[B]]` or `[[C]]`, which is a tie. */
export function readPairLabel(text: string): PairLabel | null {
  const last = [...text.matchAll(PAIR_LABEL)].at(-1)?.[1]?.toUpperCase();
  if (last === 'A' || last === 'B') return last;
  return last === 'C' ? 'tie' : null;
}

/** Of a preference model, which says one token: `A`, `B`, or the beginning of `Tie`. */
export function readPreference(text: string): PairLabel | null {
  const word = text.trim();
  if (word === 'A' || word === 'B') return word;
  return /^T(ie)?$/i.test(word) ? 'tie' : null;
}
