/**
 * Numbers as people write them in English text.
 *
 * Read: a sign, a currency sign, commas between digits, decimals, `1e3`, `3/4`, `\frac{3}{4}`. A percent sign, a unit
 * and a currency are not part of the value: "$18", "18%" and "18 eggs" are all 18. Digits inside a word ("CO2") are no
 * number, a minus right behind a word or digit ("3-4") is no sign.
 */

const DIGITS = String.raw`(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+)`;
const EXPONENT = String.raw`(?:[eE][-+]?\d{1,3}(?!\d))?`;
const CURRENCY = String.raw`(?:\\?[$€£¥₹])?`;
const PLAIN = String.raw`(?<![A-Za-z_\d]|\d[.,])(?:(?<!\w\s?)[-+−])?${CURRENCY}(?<sign>[-−])?(?<digits>${DIGITS})(?<exponent>${EXPONENT})(?:\/(?<divisor>\d+(?:\.\d+)?)(?![\/\d]))?`;
const FRACTION = String.raw`(?<minus>[-−])?\\[dt]?frac\{(?<top>-?${DIGITS})\}\{(?<bottom>${DIGITS})\}`;
const NUMBER = new RegExp(`${FRACTION}|${PLAIN}`, 'g');

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
  for (const match of text.matchAll(NUMBER)) {
    yield { value: valueOf(match), start: match.index, end: match.index + match[0].length };
  }
}

function valueOf(match: RegExpExecArray): string {
  const { sign, digits, exponent, divisor, minus, top, bottom } = match.groups ?? {};
  if (top !== undefined)
    return fraction(`${minus === undefined ? '' : '-'}${top}`.replace('--', ''), bottom ?? '1');
  const isNegative = sign !== undefined || /^[-−]/.test(match[0]);
  const number = `${isNegative ? '-' : ''}${digits ?? ''}`;
  if (exponent) return plainText(String(Number(`${number.replaceAll(',', '')}${exponent}`)));
  return divisor === undefined ? plainText(number) : fraction(number, divisor);
}

function fraction(top: string, bottom: string): string {
  const [above, below] = [plainText(top), plainText(bottom)];
  const quotient = Number(above) / Number(below);
  return Number.isInteger(quotient * 1e6) ? String(quotient) : `${above}/${below}`;
}

/** As text rather than a float, so that long numbers stay exact. */
function plainText(number: string): string {
  const bare = number.replace(/[,+]/g, '').replace('−', '-');
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
