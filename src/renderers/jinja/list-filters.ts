import { charactersOf } from './characters';
import { attributeOf, itemOf } from './members';
import { lowered, makeEntries, makeItems } from './made-values';
import { BINARY } from './operators';
import { textOf } from './python-text';
import { TemplateError } from './template-error';
import { findTest } from './tests';
import { joinedTexts, TextWriter } from './text-writer';
import {
  areEqual,
  compare,
  integerOf,
  isList,
  isMap,
  isTrue,
  itemsOf,
  lengthOf,
  pairsOf,
  Tuple,
} from './values';
import type { Keywords, Value } from './values';

/** So many items of a list take as much as one beside its key, and as a group. */
const ITEMS_OF_KEYED = 6;
const ITEMS_OF_GROUP = 12;

/** `value | filter(…)`. */
export type Filter = (value: Value, positional: readonly Value[], keywords: Keywords) => Value;

export const LIST_FILTERS: readonly (readonly [string, Filter])[] = [
  ['length', lengthOf],
  ['count', lengthOf],
  ['list', (value) => [...copyableItems(value)]],
  ['first', (value) => itemAt(value, 0)],
  ['last', (value) => itemAt(value, -1)],
  ['reverse', reversed],
  ['join', joined],
  ['sort', sorted],
  ['dictsort', sortedItems],
  ['unique', unique],
  ['min', (value, positional, keywords) => extreme(value, keywords, [positional, -1])],
  ['max', (value, positional, keywords) => extreme(value, keywords, [positional, 1])],
  ['sum', summed],
  ['select', (value, positional) => chosen(value, positional, { isKept: true, hasAttribute: false })],
  ['reject', (value, positional) => chosen(value, positional, { isKept: false, hasAttribute: false })],
  ['selectattr', (value, positional) => chosen(value, positional, { isKept: true, hasAttribute: true })],
  ['rejectattr', (value, positional) => chosen(value, positional, { isKept: false, hasAttribute: true })],
  ['attr', (value, [name]) => attributeOf(value, textOf(name))],
  ['batch', batches],
  ['slice', slices],
  ['groupby', groups],
];

function option(
  index: number,
  name: string,
  [positional, keywords]: readonly [readonly Value[], Keywords],
): Value {
  return positional[index] ?? keywords.get(name);
}

function reversed(value: Value): Value {
  if (typeof value === 'string') return joinedTexts(charactersOf(value).toReversed());
  return copyableItems(value).toReversed();
}

function itemAt(value: Value, position: number): Value {
  return typeof value === 'string' ? itemOf(value, BigInt(position)) : itemsOf(value).at(position);
}

/** What a list of as many others is made of, each of which takes as much as `size` items. */
function copyableItems(value: Value, size = 1): readonly Value[] {
  const items = itemsOf(value);
  makeItems(items.length, size);
  return items;
}

function joined(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const attribute = option(1, 'attribute', [positional, keywords]);
  const between = textOf(option(0, 'd', [positional, keywords]));
  const out = new TextWriter();
  itemsOf(value).forEach((item, index) => {
    if (index > 0) out.add(between);
    out.add(textOf(keyOf(item, attribute)));
  });
  return out.text();
}

/** A value by the path `a.b.0`; the value itself without one. */
export function keyOf(value: Value, attribute: Value): Value {
  if (attribute === undefined || attribute === null) return value;
  if (typeof attribute === 'bigint') return itemOf(value, attribute);
  return textOf(attribute)
    .split('.')
    .reduce<Value>((holder, name) => itemOf(holder, /^\d+$/.test(name) ? BigInt(name) : name), value);
}

/** Sorting tells no capitals from small letters unless it is asked to. */
function sortKey(value: Value, isCaseSensitive: Value): Value {
  return typeof value === 'string' && !isTrue(isCaseSensitive) ? lowered(value) : value;
}

function sorted(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const given = [positional, keywords] as const;
  const [isCaseSensitive, attribute] = [option(1, 'case_sensitive', given), option(2, 'attribute', given)];
  const paths = attribute === undefined ? [undefined] : textOf(attribute).split(',');
  const keyed = copyableItems(value, ITEMS_OF_KEYED + paths.length).map((item) => ({
    item,
    key: paths.map((path) => sortKey(keyOf(item, path), isCaseSensitive)),
  }));
  return ordered(keyed, isTrue(option(0, 'reverse', given)));
}

function ordered(keyed: readonly { item: Value; key: Value }[], isReversed: boolean): Value[] {
  const direction = isReversed ? -1 : 1;
  return keyed.toSorted((a, b) => direction * compare(a.key, b.key)).map(({ item }) => item);
}

function sortedItems(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  if (!isMap(value)) throw new TemplateError('dictsort needs a mapping');
  const given = [positional, keywords] as const;
  const index = (option(1, 'by', given) ?? 'key') === 'value' ? 1 : 0;
  makeItems(value.size, ITEMS_OF_KEYED);
  const keyed = pairsOf(value).map((item) => ({
    item,
    key: sortKey(item[index], option(0, 'case_sensitive', given)),
  }));
  return ordered(keyed, isTrue(option(2, 'reverse', given)));
}

function unique(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const given = [positional, keywords] as const;
  const seen: Value[] = [];
  return copyableItems(value, 2).filter((item) => {
    const key = sortKey(keyOf(item, option(1, 'attribute', given)), option(0, 'case_sensitive', given));
    if (seen.some((one) => areEqual(one, key))) return false;
    seen.push(key);
    return true;
  });
}

function extreme(
  value: Value,
  keywords: Keywords,
  [positional, direction]: readonly [readonly Value[], number],
): Value {
  const given = [positional, keywords] as const;
  const key = (item: Value) =>
    sortKey(keyOf(item, option(1, 'attribute', given)), option(0, 'case_sensitive', given));
  return itemsOf(value).reduce<Value>(
    (best, item, index) => (index === 0 || direction * compare(key(item), key(best)) > 0 ? item : best),
    undefined,
  );
}

function summed(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const given = [positional, keywords] as const;
  const add = BINARY.get('+');
  return itemsOf(value).reduce<Value>(
    (total, item) => add?.(total, keyOf(item, option(0, 'attribute', given))),
    option(1, 'start', given) ?? 0n,
  );
}

interface Choice {
  readonly isKept: boolean;
  /** The first argument names what of an item is tested. */
  readonly hasAttribute: boolean;
}

function chosen(value: Value, positional: readonly Value[], { isKept, hasAttribute }: Choice): Value {
  const [name, ...rest] = hasAttribute ? positional.slice(1) : positional;
  const test = name === undefined ? isTrue : findTest(textOf(name));
  return copyableItems(value).filter((item) => {
    const tested = hasAttribute ? keyOf(item, positional[0]) : item;
    return test(tested, rest) === isKept;
  });
}

function batches(value: Value, [count, fill]: readonly Value[]): Value {
  const size = integerOf(count, 'linecount');
  const items = copyableItems(value);
  const listCount = Math.ceil(items.length / size);
  makeEntries(listCount);
  if (fill !== undefined && fill !== null) makeItems(listCount * size);
  const lists = Array.from({ length: listCount }, (_, index) =>
    Array.from(items.slice(index * size, (index + 1) * size)),
  );
  return lists.map((list) =>
    fill === undefined || fill === null
      ? list
      : [...list, ...Array.from({ length: size - list.length }, () => fill)],
  );
}

function slices(value: Value, [count, fill]: readonly Value[]): Value {
  const size = integerOf(count, 'slices');
  const items = copyableItems(value);
  const [each, more] = [Math.floor(items.length / size), items.length % size];
  let start = 0;
  makeEntries(size);
  return Array.from({ length: size }, (_, index) => {
    const list = items.slice(start, start + each + (index < more ? 1 : 0));
    start += list.length;
    return fill !== undefined && fill !== null && index >= more && more > 0 ? [...list, fill] : list;
  });
}

function groups(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const given = [positional, keywords] as const;
  const attribute = option(0, 'attribute', given);
  const found: { key: Value; item: Value[] }[] = [];
  const items = sorted(value, [], new Map([['attribute', attribute]]));
  for (const item of isList(items) ? copyableItems(items, ITEMS_OF_GROUP) : []) {
    const key = keyOf(item, attribute) ?? option(1, 'default', given);
    const group = found.find((one) => areEqual(one.key, key));
    if (group) group.item.push(item);
    else found.push({ key, item: [item] });
  }
  return found.map(({ key, item }) => Tuple.from<Value>([key, item]));
}
