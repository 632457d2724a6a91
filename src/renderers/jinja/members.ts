import { makeItems, makeText } from './made-values';
import { textMethod } from './text-methods';
import {
  Attributes,
  Callable,
  charactersOf,
  integerOf,
  isList,
  isMap,
  itemsOf,
  Namespace,
  TemplateError,
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
  if (typeof position === 'bigint' && (isList(value) || typeof value === 'string')) {
    const items = isList(value) ? value : charactersOf(value);
    return items.at(Number(position));
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
  if (typeof value === 'string') {
    const characters = pick(charactersOf(value), slice);
    makeText(characters.length);
    return characters.join('');
  }
  if (!isList(value)) {
    if (value === undefined) throw new TemplateError('an undefined value has no items');
    throw new TemplateError(`'${typeName(value)}' object has no slices`);
  }
  const items = pick(value, slice);
  makeItems(items.length);
  return value instanceof Tuple ? Tuple.from(items) : items;
}

function pick<Item>(items: readonly Item[], { start, stop, step }: Slice): Item[] {
  const by = boundOf(step) ?? 1;
  if (by === 0) throw new TemplateError('slice step cannot be zero');
  const [lowest, highest] = by > 0 ? [0, items.length] : [-1, items.length - 1];
  const clamp = (bound: number) =>
    Math.min(Math.max(bound < 0 ? bound + items.length : bound, lowest), highest);
  const [from, to] = by > 0 ? [lowest, highest] : [highest, lowest];
  const first = boundOf(start);
  const last = boundOf(stop);
  const end = last === null ? to : clamp(last);
  const indices: number[] = [];
  for (let index = first === null ? from : clamp(first); by > 0 ? index < end : index > end; index += by) {
    indices.push(index);
  }
  return indices.flatMap((index) => items.slice(index, index + 1));
}

function boundOf(value: Value): number | null {
  return value === undefined || value === null ? null : integerOf(value, 'a slice');
}

type Map_ = ReadonlyMap<Value, Value>;
type MapMethod = (map: Map_, positional: readonly Value[]) => Value;

const MAP_METHODS = new Map<string, MapMethod>([
  ['get', (map, [key, fallback]) => (map.has(key) ? map.get(key) : (fallback ?? null))],
  ['items', (map) => Array.from(map, (entry) => Tuple.from(entry))],
  ['keys', (map) => [...map.keys()]],
  ['values', (map) => [...map.values()]],
  ['copy', (map) => new Map(map)],
]);
const CHANGES_MAP = new Set(['clear', 'pop', 'popitem', 'setdefault', 'update']);
const CHANGES_LIST = new Set(['append', 'clear', 'extend', 'insert', 'pop', 'remove', 'reverse', 'sort']);

function mapMethod(map: Map_, name: string): Value {
  const method = MAP_METHODS.get(name);
  if (method) return new Callable((positional) => method(map, positional));
  return CHANGES_MAP.has(name) ? unsafe('dict', name) : undefined;
}

function listMethod(list: readonly Value[], name: string): Value {
  if (CHANGES_LIST.has(name)) return unsafe('list', name);
  if (name === 'count') {
    return new Callable(([item]) => BigInt(itemsOf(list).filter((each) => each === item).length));
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
