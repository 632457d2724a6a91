import { withoutReasoning } from '../../core/reasoning';
import type { Grader } from './grader';
import { withPlainMinus } from './numbers/minus';

/** Digits with or without commas between groups of three, a sign, decimals; not a part of a word or a longer number. */
const NUMBER = /(?<![\w.,])[-+]?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w%]|[.,]\d)/g;

/**
 * Right when the last number of the completion equals the target's value.
 *
 * Ignores a sign of currency, commas between groups of three, leading zeros and zeros at the end of decimals: "1,234.0"
 * equals "1234". Refuses percentages ("60%" is not 60) and numbers within words.
 */
export function numericAnswer(): Grader {
  return {
    name: 'numericAnswer',
    version: 'numericAnswer@2',
    grade(completion, { target }) {
      const answer = lastNumber(withoutReasoning(completion));
      if (answer === null || target === null) return { value: 0, answer };
      return { value: Number(answer === lastNumber(target)), answer };
    },
  };
}

/** As plain text rather than a float, so that long numbers stay exact. */
function lastNumber(text: string): string | null {
  const found = [...withPlainMinus(text).matchAll(NUMBER)].at(-1)?.[0];
  return found === undefined ? null : normalise(found);
}

function normalise(number: string): string {
  const bare = number.replace(/[$,+]/g, '');
  const isNegative = bare.startsWith('-');
  const [whole = '', decimals = ''] = bare.replace('-', '').split('.');
  const digits = whole.replace(/^0+(?=\d)/, '');
  const fraction = decimals.replace(/0+$/, '');
  const value = fraction === '' ? digits : `${digits}.${fraction}`;
  return isNegative && value !== '0' ? `-${value}` : value;
}
