import { READ_FORMS, verdictPattern } from './verdict-forms';

const GRADE = verdictPattern(READ_FORMS.grade);
const LONGEST_GRADE = 80;
/** Words that say what their first letter stands for. */
const GRADE_WORDS = /^(?:correct|incorrect|partial|partially|pass|fail|yes|no|true|false)$/i;
/** Behind a grade, another one: "C/I", "C or I", "C, I". */
const ANOTHER_GRADE = /^[*_`"')\]\s]{0,8}(?:[/|&]|\bor\b|\band\b|,)[*_`"'([\s]{0,8}([A-Z])(?!\w|['’]|\s+\w)/i;
const PAIR_LABEL = verdictPattern(READ_FORMS.pair);
const TAGGED_SCORE = verdictPattern(READ_FORMS.score);
/** Behind a grade on its line: another one that stands alone ("C vs I", "C → I", "C or possibly P"), not one that a sentence begins with. */
const OTHER_GRADE = /^[^.!;:(\n]{0,30}?[^\p{L}\p{N}.!;:(\n]([A-Z])(?![\p{L}\p{N}_'’]|\s+\p{L})/u;
/** "I am not sure" grades nothing. */
const PRONOUN =
  /^(?:['’](?:m|d|ll|ve)\b|\s+(?:am|was|can|cannot|could|would|will|do|did|don['’]t|didn['’]t|think|believe|guess|feel|need|have|had|find|see|say)\b)/i;
const DOUBLE_BRACKET_NUMBER = verdictPattern(READ_FORMS.bracketRating);
const NAMED_RATING = verdictPattern(READ_FORMS.rating);
/** Signs, exponents and other digits than these are how nobody was asked to write it. */
const PLAIN_DECIMAL = /^(?:\d+(?:\.\d*)?|\.\d+)$/;

/**
 * The letter of the last `GRADE: X`, or of a word for it ("Correct"); null where there is none, it was not offered, or more than one
 * stand there. A grade is a word of its own: "Cannot be determined" and "C/I" are none.
 */
export function readGrade(text: string, offered: readonly string[]): string | null {
  const last = [...text.matchAll(GRADE)].at(-1);
  if (last === undefined) return null;
  const rest = text.slice(last.index + last[0].length, last.index + last[0].length + LONGEST_GRADE);
  const word = /^[\p{L}\p{N}_+-]*/u.exec(rest)?.[0] ?? '';
  const letter = word.slice(0, 1).toUpperCase();
  if (word.length !== 1 && !GRADE_WORDS.test(word)) return null;
  if (word === 'I' && PRONOUN.test(rest.slice(1))) return null;
  return offered.includes(letter) && !hasAnother(rest.slice(word.length), letter, offered) ? letter : null;
}

function hasAnother(rest: string, letter: string, offered: readonly string[]): boolean {
  const others = [ANOTHER_GRADE.exec(rest)?.[1]?.toUpperCase(), OTHER_GRADE.exec(rest)?.[1]];
  return others.some((other) => other !== undefined && other !== letter && offered.includes(other));
}

/** The last `[[n]]`, else the last `Rating: n`, since judges are asked to end with it; null where that is no whole number. */
export function readRating(text: string): number | null {
  const found = [...text.matchAll(DOUBLE_BRACKET_NUMBER)].at(-1) ?? [...text.matchAll(NAMED_RATING)].at(-1);
  const [, number = '', more] = found ?? [];
  const rating = number === '' || more !== undefined ? NaN : Number(number);
  return Number.isInteger(rating) ? rating : null;
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
