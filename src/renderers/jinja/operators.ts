import { chained, madeNumber, makeItems, makeText, repeatedText } from './made-values';
import { reprOf, textOf } from './python-text';
import { TemplateError } from './template-error';
import { TextWriter } from './text-writer';
import { areEqual, compare, contains, integerOf, isList, numberOf, Tuple, typeName } from './values';
import type { Value } from './values';

type Operator = (left: Value, right: Value) => Value;
type Pair = readonly [bigint, bigint] | readonly [number, number];

/** Integers of more bits are refused. */
const MOST_BITS = 1_000_000;

export const BINARY: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['+', add],
  ['-', (left, right) => arithmetic('-', left, right)],
  ['*', multiply],
  ['/', divide],
  ['//', (left, right) => arithmetic('//', left, right)],
  ['%', (left, right) => (typeof left === 'string' ? formatted(left, right) : arithmetic('%', left, right))],
  ['**', (left, right) => arithmetic('**', left, right)],
]);

export const COMPARISONS: ReadonlyMap<string, (left: Value, right: Value) => boolean> = new Map([
  ['==', areEqual],
  ['!=', (left: Value, right: Value) => !areEqual(left, right)],
  ['<', (left: Value, right: Value) => order(left, right) < 0],
  ['<=', (left: Value, right: Value) => order(left, right) <= 0],
  ['>', (left: Value, right: Value) => order(left, right) > 0],
  ['>=', (left: Value, right: Value) => order(left, right) >= 0],
  ['in', (left: Value, right: Value) => contains(right, left)],
  ['not in', (left: Value, right: Value) => !contains(right, left)],
]);

/** NaN is in no order with anything. */
function order(left: Value, right: Value): number {
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : compare(left, right);
}

export function negate(value: Value): Value {
  const number = numberOf(value);
  if (number !== null) return madeNumber(-number);
  throw new TemplateError(`bad operand type for unary -: '${typeName(value)}'`);
}

export function positive(value: Value): Value {
  const number = numberOf(value);
  if (number !== null) return number;
  throw new TemplateError(`bad operand type for unary +: '${typeName(value)}'`);
}

function add(left: Value, right: Value): Value {
  if (typeof left === 'string' && typeof right === 'string') return chained([left, right]);
  if (isList(left) && isList(right) && left instanceof Tuple === right instanceof Tuple) {
    makeItems(left.length + right.length);
    const items = [...left, ...right];
    return left instanceof Tuple ? Tuple.from(items) : items;
  }
  return arithmetic('+', left, right);
}

function multiply(left: Value, right: Value): Value {
  if (typeof left === 'string') return repeatedText(left, countOf(right));
  if (typeof right === 'string') return multiply(right, left);
  if (isList(left)) {
    const count = Math.max(0, countOf(right));
    makeItems(left.length * count);
    const items = Array.from({ length: left.length * count }, (_, index) => left[index % left.length]);
    return left instanceof Tuple ? Tuple.from(items) : items;
  }
  return isList(right) ? multiply(right, left) : arithmetic('*', left, right);
}

function countOf(times: Value): number {
  return integerOf(times, 'a number of repetitions');
}

function divide(left: Value, right: Value): Value {
  const [a, b] = numbers('/', left, right);
  if (Number(b) === 0) throw new TemplateError('division by zero');
  return Number(a) / Number(b);
}

function numbers(operator: string, left: Value, right: Value): Pair {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (typeof a === 'bigint' && typeof b === 'bigint') return [a, b];
  if (a !== null && b !== null) return [Number(a), Number(b)];
  if (left === undefined || right === undefined)
    throw new TemplateError(`a value of "${operator}" is undefined`);
  throw new TemplateError(
    `unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`,
  );
}

function arithmetic(operator: string, left: Value, right: Value): Value {
  const pair = numbers(operator, left, right);
  if ((operator === '//' || operator === '%') && Number(pair[1]) === 0) {
    throw new TemplateError('integer division or modulo by zero');
  }
  return isWhole(pair) ? madeNumber(ofIntegers(operator, pair)) : ofFloats(operator, pair);
}

function isWhole(pair: Pair): pair is readonly [bigint, bigint] {
  return typeof pair[0] === 'bigint';
}

function ofIntegers(operator: string, [a, b]: readonly [bigint, bigint]): bigint | number {
  const modulo = () => ((a % b) + b) % b;
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return ofFewBits(a * b);
    case '//':
      return (a - modulo()) / b;
    case '%':
      return modulo();
    default:
      return b < 0n ? Number(a) ** Number(b) : power(a, b);
  }
}

function power(base: bigint, exponent: bigint): bigint {
  if (exponent * BigInt(base.toString(2).length) <= BigInt(MOST_BITS)) return base ** exponent;
  throw new TemplateError('a power is too large');
}

function ofFewBits(product: bigint): bigint {
  if (BigInt.asIntN(MOST_BITS, product) === product) return product;
  throw new TemplateError('a product is too large');
}

function ofFloats(operator: string, [a, b]: readonly [number, number]): Value {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '//':
      return Math.floor(a / b);
    case '%':
      return a - Math.floor(a / b) * b;
    default:
      return a ** b;
  }
}

const FIELD = /%([-0+ ]*)([1-9]\d*|)(?:\.(\d+))?([sdifrx%])/g;

/** `'%s and %d' % values`. */
export function formatted(template: string, values: Value): string {
  const given: readonly Value[] = values instanceof Tuple ? values : [values];
  let index = 0;
  const out = new TextWriter();
  let position = 0;
  for (const { 0: field, index: at, ...groups } of template.matchAll(FIELD)) {
    const [, flags = '', width = '', precision, kind = ''] = [
      field,
      groups[1],
      groups[2],
      groups[3],
      groups[4],
    ];
    if (kind !== '%' && index >= given.length) {
      throw new TemplateError('not enough arguments for format string');
    }
    const written =
      kind === '%' ? '%' : padded(spelled(kind, given[index++], precision), flags, Number(width));
    out.add(template.slice(position, at));
    out.add(written);
    position = at + field.length;
  }
  if (index < given.length) throw new TemplateError('not all arguments converted during string formatting');
  out.add(template.slice(position));
  return out.text();
}

function padded(text: string, flags: string, width: number): string {
  makeText(Math.max(width, text.length));
  if (flags.includes('-')) return text.padEnd(width);
  return flags.includes('0') ? zeroPadded(text, width) : text.padStart(width);
}

function zeroPadded(text: string, size: number): string {
  return text.startsWith('-') ? `-${text.slice(1).padStart(size - 1, '0')}` : text.padStart(size, '0');
}

function spelled(kind: string, value: Value, precision: string | undefined): string {
  if (kind === 's' || kind === 'r') {
    const text = kind === 's' ? textOf(value) : reprOf(value);
    return precision === undefined ? text : text.slice(0, Number(precision));
  }
  const number = numberOf(value);
  if (number === null)
    throw new TemplateError(`%${kind} format: a number is required, not ${typeName(value)}`);
  if (kind === 'f') return Number(number).toFixed(Number(precision ?? 6));
  const whole = typeof number === 'bigint' ? number : BigInt(Math.trunc(number));
  return whole.toString(kind === 'x' ? 16 : 10);
}
