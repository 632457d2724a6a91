import { squeezed } from './squeezed';

/** A fraction in lowest terms with a positive denominator. */
export interface ExactNumber {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Longer numbers are compared as text: reading digits costs the square of their number. */
const DIGITS_LIMIT = 3000;
const EXPONENT_LIMIT = 1000;

const UNSIGNED = String.raw`\d+(?:\.\d*)?|\.\d+`;
const DECIMAL = new RegExp(`^(${UNSIGNED})(?:[eE]([+-]?\\d{1,4}))?$`);
const REPEATING = /^(\d*)\.(\d*)\\overline\{(\d+)\}$/;
const SLASH = new RegExp(`^(${UNSIGNED})/(${UNSIGNED})$`);
const FRACTION = new RegExp(`^\\\\frac\\{([+-]?(?:${UNSIGNED}))\\}\\{([+-]?(?:${UNSIGNED}))\\}$`);
const MIXED = /^(\d+) ?(?:\\frac\{(\d+)\}\{(\d+)\}|(?<= )(\d+)\/(\d+))$/;
const POWER = /^(\d{1,6})\^(?:\{(\d{1,4})\}|(\d{1,3}))$/;
const SCIENTIFIC = new RegExp(
  `^(${UNSIGNED})(?:\\\\cdot|\\\\times|\\*)10\\^(?:\\{([+-]?\\d{1,4})\\}|(\\d))$`,
);

/**
 * A number as people write it: "-3", "1,234.5", "3/4", "\frac{3}{4}", "7\frac{3}{4}", "1.5e3", "1.2\cdot10^{3}",
 * "0.\overline{3}". Null for anything that would have to be calculated.
 */
export function readNumber(text: string): ExactNumber | null {
  if (text.length > DIGITS_LIMIT) return null;
  const { isNegative, rest } = splitSign(text.trim());
  const value = readUnsigned(withoutGrouping(rest));
  return value && isNegative ? { ...value, numerator: -value.numerator } : value;
}

export function isSameNumber(a: ExactNumber, b: ExactNumber): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

/** Fewer decimals than these are a number of their own. */
const LEAST_DECIMALS = 6;
/** Of as many digits that are not zeros in front: 0.000001 says next to nothing. */
const LEAST_DIGITS = 5;

/** Digits that a computer has of a number; what it prints may be one off in the last of them. */
const DOUBLE_DIGITS = 15;

/** A number with the decimals it is written with, ending zeros too; null where it is written otherwise. */
interface WrittenNumber {
  readonly value: ExactNumber;
  readonly decimals: number | null;
}

/** Whether one is the other cut or rounded behind six or more decimals, as calculators print what has no end: 0.833333 of 5/6. */
export function isRoundingOf(decimal: WrittenNumber, exact: ExactNumber): boolean {
  const places = placesOfRounding(decimal);
  if (places === null || hasEnd(exact)) return false;
  const written = timesPowerOfTen(decimal.value, places) / decimal.value.denominator;
  const above = timesPowerOfTen(exact, places);
  const cut = above / exact.denominator;
  const isSecondHalf = 2n * magnitude(above % exact.denominator) >= exact.denominator;
  const rounded = isSecondHalf ? cut + (above < 0n ? -1n : 1n) : cut;
  if (written === cut || written === rounded) return true;
  const isNear = magnitude(written * exact.denominator - above) < exact.denominator;
  return isNear && String(magnitude(written)).length >= DOUBLE_DIGITS;
}

/** How many decimals a number has that may be a longer one cut or rounded; null where it is a number of its own. */
export function placesOfRounding({ value, decimals }: WrittenNumber): number | null {
  if (decimals === null || decimals < LEAST_DECIMALS) return null;
  const digits = timesPowerOfTen(value, decimals) / value.denominator;
  return String(magnitude(digits)).length < LEAST_DIGITS ? null : decimals;
}

const WRITTEN_DECIMAL = /^[+-]? ?[\d, ]*\.(\d+)(?:(?:e|\\cdot10\^)\{?([+-]?\d{1,4})\}?)?$/i;

/** Of "1.500" three, of "1.5e-3" four; null where a number is written otherwise. */
export function decimalsIn(text: string): number | null {
  const [, decimals, exponent = '0'] = WRITTEN_DECIMAL.exec(text.trim()) ?? [];
  return decimals === undefined ? null : Math.max(0, decimals.length - Number(exponent));
}

function timesPowerOfTen({ numerator }: ExactNumber, places: number): bigint {
  return numerator * 10n ** BigInt(places);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** Whether its decimals end. */
function hasEnd({ denominator }: ExactNumber): boolean {
  let rest = denominator;
  while (rest % 2n === 0n) rest /= 2n;
  while (rest % 5n === 0n) rest /= 5n;
  return rest === 1n;
}

export function divideBy(value: ExactNumber, divisor: bigint): ExactNumber {
  return fraction(value.numerator, value.denominator * divisor);
}

function splitSign(text: string): { isNegative: boolean; rest: string } {
  const signs = /^(?:[+-] ?)?/.exec(text)?.[0] ?? '';
  return { isNegative: signs.startsWith('-'), rest: text.slice(signs.length) };
}

/** "1,234,567.5" and "1 234 567"; commas and spaces elsewhere separate values. */
function withoutGrouping(text: string): string {
  if (/^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/.test(text)) return text.replaceAll(',', '');
  return /^[1-9]\d{0,2}(?: \d{3})+(?:\.\d+)?$/.test(text) ? text.replaceAll(' ', '') : text;
}

function readUnsigned(text: string): ExactNumber | null {
  const readers = [readDecimal, readQuotient, readMixed, readScientific, readRepeating, readPower];
  for (const read of readers) {
    const value = read(text);
    if (value) return value;
  }
  return null;
}

function readDecimal(text: string): ExactNumber | null {
  const [, digits, exponent = '0'] = DECIMAL.exec(text) ?? [];
  return digits === undefined ? null : scaled(digits, Number(exponent));
}

/** digits · 10^exponent */
function scaled(digits: string, exponent: number): ExactNumber | null {
  if (Math.abs(exponent) > EXPONENT_LIMIT) return null;
  const [whole = '', decimals = ''] = digits.split('.');
  const shift = exponent - decimals.length;
  const value = BigInt(whole + decimals || '0');
  return shift >= 0 ? fraction(value * 10n ** BigInt(shift), 1n) : fraction(value, 10n ** BigInt(-shift));
}

function readQuotient(text: string): ExactNumber | null {
  const [, above, below] = FRACTION.exec(text) ?? SLASH.exec(text) ?? [];
  if (above === undefined || below === undefined) return null;
  const top = readNumber(above);
  const bottom = readNumber(below);
  if (!top || !bottom || bottom.numerator === 0n) return null;
  return fraction(top.numerator * bottom.denominator, top.denominator * bottom.numerator);
}

function readMixed(text: string): ExactNumber | null {
  const [, whole, a, b, c, d] = MIXED.exec(text) ?? [];
  const above = a ?? c;
  const below = b ?? d;
  if (whole === undefined || above === undefined || below === undefined) return null;
  const [units, top, bottom] = [BigInt(whole), BigInt(above), BigInt(below)];
  // 2\frac{3}{2} is a product, if anything.
  return top >= bottom ? null : fraction(units * bottom + top, bottom);
}

function readScientific(text: string): ExactNumber | null {
  const [, digits, braced, bare] = SCIENTIFIC.exec(squeezed(text)) ?? [];
  return digits === undefined ? null : scaled(digits, Number(braced ?? bare));
}

function readRepeating(text: string): ExactNumber | null {
  const [, whole, fixed, period] = REPEATING.exec(text) ?? [];
  if (whole === undefined || fixed === undefined || period === undefined) return null;
  const places = 10n ** BigInt(fixed.length);
  const cycle = 10n ** BigInt(period.length) - 1n;
  const value = BigInt(whole + fixed || '0') * cycle + BigInt(period);
  return fraction(value, places * cycle);
}

function readPower(text: string): ExactNumber | null {
  const [, base, braced, bare] = POWER.exec(text) ?? [];
  const exponent = Number(braced ?? bare);
  if (base === undefined || base.length * exponent > DIGITS_LIMIT || (Number(base) === 0 && exponent === 0))
    return null;
  return fraction(BigInt(base) ** BigInt(exponent), 1n);
}

function fraction(numerator: bigint, denominator: bigint): ExactNumber {
  const sign = denominator < 0n ? -1n : 1n;
  const divisor = greatestDivisor(numerator < 0n ? -numerator : numerator, denominator * sign);
  return { numerator: (numerator * sign) / divisor, denominator: (denominator * sign) / divisor };
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [large, small] = [a, b];
  while (small > 0n) [large, small] = [small, large % small];
  return large === 0n ? 1n : large;
}
