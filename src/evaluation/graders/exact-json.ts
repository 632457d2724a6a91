import { randomUUID } from 'node:crypto';
import { stripEnd, stripEnds } from '../../core/strip-ends';
import { isRow } from './row-fields';

/** A number that a double would change, by its value: `150.0` and `1.5e2` are the same. */
class ExactNumber {
  constructor(
    readonly value: string,
    readonly nearest: number,
  ) {}
}

/** A text, which is passed over whole, or a number. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** So many significant digits survive in a double. */
const DIGITS_IN_DOUBLE = 15;
/** Without any of these no number is more than a double. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]/;
/** Before the digits of a number; a part that nobody can foresee keeps texts from being taken for one. */
const MARKED = `\u0000${randomUUID()}:`;
const MARK = `\\u0000${MARKED.slice(1)}`;

/** As `JSON.parse`, but for numbers that a double would round or cannot reach. */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MAY_BE_INEXACT.test(text)) return value;
  const marked = text.replaceAll(TOKEN, (token) => (isInexact(token) ? `"${MARK}${token}"` : token));
  return JSON.parse(marked, (_, inner: unknown) =>
    typeof inner === 'string' && inner.startsWith(MARKED) ? exactNumber(inner.slice(MARKED.length)) : inner,
  );
}

/** Goes down as far as both sides do. Keys in any order. A number is compared by its digits where both sides have them, as both do that `parseExactJson` read. */
export function equalJson(left: unknown, right: unknown, areExact = false): boolean {
  if (left instanceof ExactNumber || right instanceof ExactNumber) return equalNumbers(left, right, areExact);
  if (Array.isArray(left) && Array.isArray(right)) {
    return (
      left.length === right.length && left.every((item, index) => equalJson(item, right[index], areExact))
    );
  }
  if (!isRow(left) || !isRow(right)) return left === right;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && equalJson(left[key], right[key], areExact))
  );
}

function isInexact(token: string): boolean {
  const [, , whole, fraction = ''] = NUMBER.exec(token) ?? [];
  if (whole === undefined) return false;
  const digits = significant(`${whole}${fraction}`);
  if (digits.length > DIGITS_IN_DOUBLE) return true;
  const value = Number(token);
  return digits !== '' && (!Number.isFinite(value) || value === 0);
}

function exactNumber(token: string): ExactNumber {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? [];
  const all = `${whole}${fraction}`;
  const digits = significant(all);
  const zeros = all.length - stripEnd(all, '0').length;
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(zeros);
  return new ExactNumber(digits === '' ? '0' : `${sign}${digits}e${power}`, Number(token));
}

function significant(digits: string): string {
  return stripEnds(digits, '0');
}

function equalNumbers(left: unknown, right: unknown, areExact: boolean): boolean {
  if (areExact) return digitsOf(left) === digitsOf(right);
  if (left instanceof ExactNumber && right instanceof ExactNumber) return left.value === right.value;
  return nearestOf(left) === nearestOf(right);
}

function digitsOf(value: unknown): unknown {
  if (value instanceof ExactNumber) return value.value;
  return typeof value === 'number' ? exactNumber(String(value)).value : value;
}

/** Of what was rounded when its row was read no more is known than the double. */
function nearestOf(value: unknown): unknown {
  return value instanceof ExactNumber ? value.nearest : value;
}
