import { characterAt, characterCount, charactersOf, sliceOfCharacters } from './characters';
import { makeEntries, makeItems, makeText } from './made-values';
import { TemplateError } from './template-error';
import { textMethod } from './text-methods';
import { joinedTexts } from './text-writer';
import {
  Attributes,
  Callable,
  integerOf,
  isList,
  isMap,
  keysOf,
  Namespace,
  pairsOf,
  Tuple,
  typeName,
} from './values';
import type { Value } from './values';

/** `value.name`: methods before the keys of a dict. */
export function attributeOf(value: Value, name: string): Value {
  if (value === undefined) throw new TemplateError(`an undefined value has no attribute '${name}'`);
  if (value instanceof Namespace) return value.fields.get(name);
  if (value instanceof Attributes) return value.get(name);
  if (typeof value === 'string') return textMethod(value, name);
  if (isMap(value)) return mapMethod(value, name) ?? value.get(name);
  return isList(value) ? listMethod(value, name) : undefined;
}

/** `value[key]`: the keys of a dict before its methods. */
export function itemOf(value: Value, key: Value): Value {
  if (isMap(value) && value.has(key)) return value.get(key);
  const position = typeof key === 'boolean' ? BigInt(key) : key;
  if (typeof position === 'bigint') {
    if (isList(value)) return value.at(Number(position));
    if (typeof value === 'string') return characterAt(value, Number(position));
  }
  if (typeof key === 'string') return attributeOf(value, key);
  if (value === undefined) throw new TemplateError('an undefined value has no items');
  return undefined;
}

export interface Slice {
  readonly start: Value;
  readonly stop: Value;
  readonly step: Value;
}

export function sliceOf(value: Value, slice: Slice): Value {
  if (typeof value === 'string') return sliceOfText(value, slice);
  if (!isList(value)) {
    if (value === undefined) throw new TemplateError('an undefined value has no items');
    throw new TemplateError(`'${typeName(value)}' object has no slices`);
  }
  const items = pick(value, rangeOf(value.length, slice));
  return value instanceof Tuple ? Tuple.from(items) : items;
}

function sliceOfText(text: string, slice: Slice): string {
  const range = rangeOf(characterCount(text), slice);
  if (range.step !== 1) return joinedTexts(pick(charactersOf(text), range));
  makeText(range.count);
  return sliceOfCharacters(text, range.first, range.first + range.count);
}

interface Range {
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

function pick<Item>(items: readonly Item[], { first, step, count }: Range): Item[] {
  makeItems(count);
  return Array.from({ length: count }, (_, index) => first + index * step).flatMap((index) =>
    items.slice(index, index + 1),
  );
}

/** Which of so many items a slice has. */
function rangeOf(length: number, { start, stop, step }: Slice): Range {
  const by = boundOf(step) ?? 1;
  if (by === 0) throw new TemplateError('slice step cannot be zero');
  const [lowest, highest] = by > 0 ? [0, length] : [-1, length - 1];
  const clamp = (bound: number) => Math.min(Math.max(bound < 0 ? bound + length : bound, lowest), highest);
  const [from, to] = by > 0 ? [lowest, highest] : [highest, lowest];
  const [begin, end] = [boundOf(start), boundOf(stop)];
  const first = begin === null ? from : clamp(begin);
  const last = end === null ? to : clamp(end);
  return { first, step: by, count: Math.max(0, Math.ceil((last - first) / by)) };
}

function boundOf(value: Value): number | null {
  return value === undefined || value === null ? null : integerOf(value, 'a slice');
}

type Map_ = ReadonlyMap<Value, Value>;
type MapMethod = (map: Map_, positional: readonly Value[]) => Value;

const MAP_METHODS = new Map<string, MapMethod>([
  ['get', (map, [key, fallback]) => (map.has(key) ? map.get(key) : (fallback ?? null))],
  ['items', pairsOf],
  ['keys', keysOf],
  [
    'values',
    (map) => {
      makeItems(map.size);
      return [...map.values()];
    },
  ],
  ['copy', copyOf],
]);
const CHANGES_MAP = new Set(['clear', 'pop', 'popitem', 'setdefault', 'update']);
const CHANGES_LIST = new Set(['append', 'clear', 'extend', 'insert', 'pop', 'remove', 'reverse', 'sort']);

function copyOf(map: Map_): Map_ {
  makeEntries(map.size);
  return new Map(map);
}

function mapMethod(map: Map_, name: string): Value {
  const method = MAP_METHODS.get(name);
  if (method) return new Callable((positional) => method(map, positional));
  return CHANGES_MAP.has(name) ? unsafe('dict', name) : undefined;
}

function listMethod(list: readonly Value[], name: string): Value {
  if (CHANGES_LIST.has(name)) return unsafe('list', name);
  if (name === 'count') {
    return new Callable(([item]) =>
      BigInt(list.reduce<number>((count, each) => count + Number(each === item), 0)),
    );
  }
  if (name !== 'index') return undefined;
  return new Callable(([item]) => {
    const index = list.indexOf(item);
    if (index >= 0) return BigInt(index);
    throw new TemplateError('the value is not in the list');
  });
}

/** Templates run in a sandbox in which values do not change. */
function unsafe(type: string, name: string): Callable {
  return new Callable(() => {
    throw new TemplateError(`access to attribute '${name}' of '${type}' object is unsafe.`);
  });
}
