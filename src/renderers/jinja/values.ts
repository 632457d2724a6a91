import { characterCount, charactersOf, compareCharacters } from './characters';
import { makeEntries, makeItems } from './made-values';
import { TemplateError } from './template-error';

/**
 * Values of templates, which are Python's. An integer is a bigint and a float a number, so that `2` and `2.0` stay apart
 * and no integer loses digits; `undefined` is Jinja's undefined and prints as nothing.
 */
export type Value =
  | undefined
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | Namespace
  | Callable;

export class Tuple extends Array<Value> {}

export class Namespace {
  constructor(readonly fields: Map<string, Value>) {}
}

export type Keywords = ReadonlyMap<string, Value>;
type Body = (positional: readonly Value[], keywords: Keywords) => Value;

export class Callable {
  constructor(readonly call: Body) {}
}

/** Something with attributes, such as `loop`, which a recursive loop also calls. */
export class Attributes extends Callable {
  constructor(
    readonly get: (name: string) => Value,
    call: Body = refuseCall,
  ) {
    super(call);
  }
}

function refuseCall(): never {
  throw new TemplateError('the object is not callable');
}

/** A dict that may not be written by `str`: the template wants its JSON text instead. */
export class UnwritableMap extends Map<Value, Value> {}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ReadonlyMap<Value, Value> {
  return value instanceof Map;
}

export function isTrue(value: Value): boolean {
  if (isMap(value)) return value.size > 0;
  if (isList(value)) return value.length > 0;
  return Boolean(value);
}

const TYPE_NAMES = new Map([
  ['undefined', 'Undefined'],
  ['boolean', 'bool'],
  ['bigint', 'int'],
  ['number', 'float'],
  ['string', 'str'],
]);

export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (value instanceof Tuple) return 'tuple';
  if (isList(value)) return 'list';
  if (isMap(value)) return 'dict';
  return TYPE_NAMES.get(typeof value) ?? 'object';
}

/** A boolean is an integer, as in Python; null where the value is no number. */
export function numberOf(value: Value): bigint | number | null {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'bigint' || typeof value === 'number' ? value : null;
}

export function integerOf(value: Value, what: string): number {
  const number = numberOf(value);
  if (typeof number === 'bigint') return Number(number);
  throw new TemplateError(`${what} has to be an integer, not ${typeName(value)}`);
}

/** What a loop goes over: items, keys of a dict, characters of a text. */
export function itemsOf(value: Value): readonly Value[] {
  if (value === undefined) return [];
  if (isList(value)) return value;
  if (isMap(value)) return keysOf(value);
  if (typeof value === 'string') return charactersOf(value);
  throw new TemplateError(`'${typeName(value)}' object is not iterable`);
}

/** Of a dict. */
export function keysOf(map: ReadonlyMap<Value, Value>): readonly Value[] {
  makeItems(map.size);
  return [...map.keys()];
}

/** Key and value of each entry of a dict. */
export function pairsOf(map: ReadonlyMap<Value, Value>): readonly Tuple[] {
  makeEntries(map.size);
  return Array.from(map, (entry) => Tuple.from(entry));
}

export function lengthOf(value: Value): bigint {
  if (value === undefined) return 0n;
  if (typeof value === 'string') return BigInt(characterCount(value));
  if (isList(value)) return BigInt(value.length);
  if (isMap(value)) return BigInt(value.size);
  throw new TemplateError(`object of type '${typeName(value)}' has no len()`);
}

export function areEqual(left: Value, right: Value): boolean {
  const [a, b] = [numberOf(left), numberOf(right)];
  // Only == compares a bigint with a number, and as exactly as Python.
  // oxlint-disable-next-line eqeqeq
  if (a !== null && b !== null) return a == b;
  if (isList(left) && isList(right)) return areEqualLists(left, right);
  if (isMap(left) && isMap(right)) return areEqualMaps(left, right);
  return left === right;
}

function areEqualLists(left: readonly Value[], right: readonly Value[]): boolean {
  if (left instanceof Tuple !== right instanceof Tuple || left.length !== right.length) return false;
  return left.every((item, index) => areEqual(item, right[index]));
}

function areEqualMaps(left: ReadonlyMap<Value, Value>, right: ReadonlyMap<Value, Value>): boolean {
  if (left.size !== right.size) return false;
  for (const [key, item] of left) {
    if (!right.has(key) || !areEqual(item, right.get(key))) return false;
  }
  return true;
}

/** Negative, zero or positive, as `left < right` decides in Python. */
export function compare(left: Value, right: Value): number {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== null && b !== null) return a < b ? -1 : Number(a > b);
  if (typeof left === 'string' && typeof right === 'string') return compareCharacters(left, right);
  if (isList(left) && isList(right)) return compareLists(left, right);
  throw new TemplateError(
    `'<' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`,
  );
}

function compareLists(left: readonly Value[], right: readonly Value[]): number {
  const other = left.findIndex((item, index) => index >= right.length || !areEqual(item, right[index]));
  if (other < 0 || other >= right.length) return left.length - right.length;
  return compare(left[other], right[other]);
}

export function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item === 'string') return container.includes(item);
    throw new TemplateError(`'in <string>' requires string as left operand, not ${typeName(item)}`);
  }
  if (isMap(container)) return container.has(item);
  return itemsOf(container).some((each) => areEqual(each, item));
}
