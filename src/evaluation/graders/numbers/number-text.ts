import { withPlainMinus } from './minus';

/**
 * Numbers as people write them in English text.
 *
 * Read: a sign, a currency sign, commas between digits, decimals, `1e3`, `3/4`, `\frac{3}{4}`, `3½`. A percent sign, a unit
 * and a currency are not part of the value: "$18", "18%" and "18 eggs" are all 18. Digits inside a word ("CO2") are no
 * number, a minus right behind a word or digit ("3-4") is no sign.
 */

/** Between groups of three digits in typeset text: `70{,}000`, `70\,000`, and the spaces that do not break. */
export const TYPESET_COMMA = String.raw`(?:\{,\}|\\[,!]|[\u00a0\u2009\u202f])`;
const TYPESET_COMMAS = new RegExp(TYPESET_COMMA, 'g');
const DIGITS = String.raw`(?:(?:\d{1,3}(?:${TYPESET_COMMA}\d{3})+(?!\d)|\d+(?:,\d+)*)(?:\.\d+)?|\.\d+)`;
const EXPONENT = String.raw`(?:[eE][-+]?\d{1,3}(?!\d))?`;
const CURRENCY = String.raw`(?:\\?[$€£¥₹])?`;
const PLAIN = String.raw`(?<![A-Za-z_\d]|\d[.,])(?:(?<!\w\s?)[-+])?${CURRENCY}(?<sign>-)?(?<digits>${DIGITS})(?<exponent>${EXPONENT})(?:\/(?<divisor>\d+(?:\.\d+)?)(?![\/\d]))?`;
const WHOLE = String.raw`(?:(?<![A-Za-z_\d.,])(?<whole>\d{1,15})\s*)?`;
/** `3\frac12` is one number, as is "3 1/2". */
const FRACTION = String.raw`(?<minus>(?<!\w\s?)-)?${CURRENCY}${WHOLE}\\[dt]?frac\s*(?:\{(?<top>-?${DIGITS})\}|(?<topDigit>\d))\s*(?:\{(?<bottom>${DIGITS})\}|(?<bottomDigit>\d))`;
const MIXED = String.raw`(?<mixedMinus>(?<!\w\s?)-)?${CURRENCY}(?<![A-Za-z_\d.,/])(?<mixedWhole>\d{1,15})[ \u00a0](?<mixedTop>\d{1,15})/(?<mixedBottom>\d{1,15})(?![\d/]|[.,]\d)`;
/** "3½": one character of Unicode is the fraction. */
const VULGAR = String.raw`(?<vulgarMinus>(?<!\w\s?)-)?${CURRENCY}(?:(?<![A-Za-z_\d.,/])(?<vulgarWhole>\d{1,15})[ \u00a0]?)?(?<vulgar>[\u00bc-\u00be\u2150-\u215e])`;
const NUMBER = new RegExp(`${FRACTION}|${MIXED}|${VULGAR}|${PLAIN}`, 'g');

export interface NumberInText {
  /** As plain text, "1234.5" or "1/3"; equal texts are equal numbers. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

export function firstNumber(text: string): NumberInText | null {
  const next = numbersIn(text).next();
  return next.done === true ? null : next.value;
}

export function lastNumber(text: string): NumberInText | null {
  let last: NumberInText | null = null;
  for (const number of numbersIn(text)) last = number;
  return last;
}

function* numbersIn(text: string): Generator<NumberInText> {
  for (const match of withPlainMinus(text).matchAll(NUMBER)) {
    yield { value: valueOf(match), start: match.index, end: match.index + match[0].length };
  }
}

function valueOf(match: RegExpExecArray): string {
  const { sign, digits, exponent, divisor } = match.groups ?? {};
  const parts = fractionParts(match.groups ?? {});
  if (parts !== null) return mixedNumber(parts);
  const isNegative = sign !== undefined || match[0].startsWith('-');
  const number = `${isNegative ? '-' : ''}${withoutTypesetCommas(digits ?? '')}`;
  if (exponent) return plainText(String(Number(`${number.replaceAll(',', '')}${exponent}`)));
  return divisor === undefined ? plainText(number) : fraction(number, divisor);
}

interface FractionParts {
  readonly isNegative: boolean;
  readonly whole: string | undefined;
  readonly top: string;
  readonly bottom: string;
}

function fractionParts(groups: Readonly<Record<string, string | undefined>>): FractionParts | null {
  return vulgarParts(groups) ?? writtenParts(groups);
}

function vulgarParts(groups: Readonly<Record<string, string | undefined>>): FractionParts | null {
  const { vulgar, vulgarMinus, vulgarWhole: whole } = groups;
  if (vulgar === undefined) return null;
  const [top = '', bottom = ''] = vulgar.normalize('NFKD').split('\u2044');
  return { isNegative: vulgarMinus !== undefined, whole, top, bottom };
}

function writtenParts(groups: Readonly<Record<string, string | undefined>>): FractionParts | null {
  const top = groups['top'] ?? groups['topDigit'] ?? groups['mixedTop'];
  if (top === undefined) return null;
  return {
    isNegative: (groups['minus'] ?? groups['mixedMinus']) !== undefined,
    whole: groups['whole'] ?? groups['mixedWhole'],
    top,
    bottom: groups['bottom'] ?? groups['bottomDigit'] ?? groups['mixedBottom'] ?? '1',
  };
}

function mixedNumber({ isNegative, whole, top, bottom }: FractionParts): string {
  const sign = isNegative ? '-' : '';
  if (whole === undefined || !/^\d+$/.test(top + bottom))
    return fraction(`${sign}${top}`.replace('--', ''), bottom);
  const above = BigInt(whole) * BigInt(bottom) + BigInt(top);
  return fraction(`${sign}${above}`, bottom);
}

function fraction(top: string, bottom: string): string {
  const [above, below] = [plainText(top), plainText(bottom)];
  const quotient = Number(above) / Number(below);
  return Number.isInteger(quotient * 1e6) ? String(quotient) : `${above}/${below}`;
}

export function withoutTypesetCommas(digits: string): string {
  return digits.replace(TYPESET_COMMAS, '');
}

/** As text rather than a float, so that long numbers stay exact. */
function plainText(number: string): string {
  const bare = withoutTypesetCommas(number).replace(/[,+]/g, '');
  const [whole = '', decimals = ''] = bare.replace('-', '').split('.');
  const digits = whole.replace(/^0+(?=\d)/, '') || '0';
  const rest = withoutTrailingZeros(decimals);
  const value = rest === '' ? digits : `${digits}.${rest}`;
  return bare.startsWith('-') && value !== '0' ? `-${value}` : value;
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** Equal as text, or closer than 1e-5 where floats can tell. */
export function areEqualNumbers(left: string, right: string): boolean {
  if (left === right) return true;
  const [a, b] = [toFloat(left), toFloat(right)];
  return Math.abs(a) < Number.MAX_SAFE_INTEGER && Math.abs(a - b) < 1e-5;
}

function toFloat(value: string): number {
  const [top = '', bottom = '1'] = value.split('/');
  return Number(top) / Number(bottom);
}
