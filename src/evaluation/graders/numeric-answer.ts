import { withoutReasoning } from '../../core/reasoning';
import { stripEnd } from '../../core/strip-ends';
import { gradeWithin } from './grade-row';
import type { Grader, Score } from './grader';
import { withPlainDigits } from './numbers/full-width';
import { withPlainMinus } from './numbers/minus';
import { TYPESET_COMMA, withoutTypesetCommas } from './numbers/number-text';

/** Digits with or without commas between groups of three, a sign, decimals; not a part of a word or a longer number. */
const NUMBER = new RegExp(
  String.raw`(?<![\w.,])[-+]?\$?(?:(?:\d{1,3}(?:(?:,|${TYPESET_COMMA})\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?![\w%]|[.,]\d)`,
  'g',
);
/** Before the last number of what is still to be calculated: "24/12", "3 - 12". */
const TERM = /\d\)*[ \t]{0,3}(?:[-+*/×÷·^]|\*\*)[ \t]{0,3}$/;

/**
 * Right when the last number of the completion equals the target's value.
 *
 * Ignores a sign of currency, commas between groups of three, leading zeros and zeros at the end of decimals: "1,234.0"
 * equals "1234". Refuses percentages ("60%" is not 60), numbers within words, and what is only to be calculated ("24/12").
 */
export function numericAnswer(): Grader {
  return {
    name: 'numericAnswer',
    version: 'numericAnswer@5',
    grade(completion, { target }) {
      return gradeWithin((text) => gradeNumber(withoutReasoning(text), target), completion);
    },
  };
}

function gradeNumber(text: string, target: string | null): Score {
  const answer = lastNumber(text);
  if (answer === null || target === null) return { value: 0, answer };
  return { value: Number(answer === lastNumber(target)), answer };
}

/** As plain text rather than a float, so that long numbers stay exact. */
function lastNumber(text: string): string | null {
  const plain = withPlainDigits(withPlainMinus(text));
  const found = [...plain.matchAll(NUMBER)].at(-1);
  if (!found || isTerm(plain, found.index)) return null;
  return normalise(found[0]);
}

/** Also where the sign of the number is the operator: "3 -12". */
function isTerm(text: string, index: number): boolean {
  const before = text.slice(Math.max(0, index - 12), index);
  return TERM.test(before) || (/^[-+]/.test(text.slice(index)) && /\d\)*[ \t]{1,3}$/.test(before));
}

function normalise(number: string): string {
  const bare = withoutTypesetCommas(number).replace(/[$,+]/g, '');
  const isNegative = bare.startsWith('-');
  const [whole = '', decimals = ''] = bare.replace('-', '').split('.');
  const digits = whole.replace(/^0+(?=\d)/, '') || '0';
  const fraction = stripEnd(decimals, '0');
  const value = fraction === '' ? digits : `${digits}.${fraction}`;
  return isNegative && value !== '0' ? `-${value}` : value;
}
