import { floatText } from '../../core/python-float';
import { makeEntries, repeatedText } from './made-values';
import { TemplateError } from './template-error';
import { addRewritten, TextWriter } from './text-writer';
import { Tuple, isList, isMap, typeName } from './values';
import type { Value } from './values';

/** JSON text that is known to be valid, as Python reads it: nothing of a number is lost, keys stay in order. */
export function fromJson(text: string): Value {
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g) ?? [];
  let position = 0;
  const next = (): string => tokens[position++] ?? '';
  const read = (token: string): Value => {
    if (token === '{') return readMembers();
    if (token === '[') return readItems();
    return scalarOf(token);
  };
  const readMembers = (): Value => {
    const members = new Map<Value, Value>();
    for (let token = next(); token !== '}' && token !== ''; token = next()) {
      if (token === ',') continue;
      next();
      members.set(String(JSON.parse(token)), read(next()));
    }
    return members;
  };
  const readItems = (): Value => {
    const items: Value[] = [];
    for (let token = next(); token !== ']' && token !== ''; token = next()) {
      if (token !== ',') items.push(read(token));
    }
    return items;
  };
  return read(next());
}

const LITERALS = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function scalarOf(token: string): Value {
  if (token.startsWith('"')) return String(JSON.parse(token));
  if (LITERALS.has(token)) return LITERALS.get(token);
  return /^-?\d+$/.test(token) ? BigInt(token) : Number(token);
}

export interface JsonLayout {
  readonly indent: number | null;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortsKeys: boolean;
  readonly isAscii: boolean;
}

/** `json.dumps`. */
export function toJson(value: Value, layout: JsonLayout): string {
  const out = new TextWriter();
  addJson(value, { out, layout, depth: 0 });
  return out.text();
}

interface Place {
  readonly out: TextWriter;
  readonly layout: JsonLayout;
  readonly depth: number;
}

function addJson(value: Value, place: Place): void {
  if (typeof value === 'string') addString(value, place);
  else if (isList(value)) addItems(value, place);
  else if (isMap(value)) addMembers(value, place);
  else place.out.add(scalarJson(value));
}

function addItems(items: readonly Value[], place: Place): void {
  const inner = { ...place, depth: place.depth + 1 };
  place.out.add('[');
  items.forEach((item, index) => {
    beginItem(index, inner);
    addJson(item, inner);
  });
  if (items.length > 0) addLine(place);
  place.out.add(']');
}

function addMembers(map: ReadonlyMap<Value, Value>, place: Place): void {
  const inner = { ...place, depth: place.depth + 1 };
  let index = 0;
  place.out.add('{');
  for (const [key, item] of place.layout.sortsKeys ? sortedMembers(map) : map) {
    beginItem(index++, inner);
    addString(keyText(key), inner);
    place.out.add(place.layout.keySeparator);
    addJson(item, inner);
  }
  if (map.size > 0) addLine(place);
  place.out.add('}');
}

function beginItem(index: number, place: Place): void {
  if (index > 0) place.out.add(place.layout.itemSeparator);
  addLine(place);
}

function addLine({ out, layout: { indent }, depth }: Place): void {
  if (indent === null) return;
  out.add('\n');
  out.add(repeatedText(' ', indent * depth));
}

function sortedMembers(map: ReadonlyMap<Value, Value>): [Value, Value][] {
  makeEntries(map.size);
  return [...map].sort(([a], [b]) => (keyText(a) < keyText(b) ? -1 : 1));
}

function keyText(key: Value): string {
  return typeof key === 'string' ? key : scalarJson(key);
}

function scalarJson(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'number') {
    throw new TemplateError(`Object of type ${typeName(value)} is not JSON serializable`);
  }
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? floatText(value) : `${value < 0 ? '-' : ''}Infinity`;
}

function addString(text: string, { out, layout: { isAscii } }: Place): void {
  out.add('"');
  addRewritten(out, text, (slice) => {
    const json = JSON.stringify(slice).slice(1, -1);
    return isAscii ? asciiOf(json) : json;
  });
  out.add('"');
}

function asciiOf(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) =>
    unit === '\x7f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Plain data as values of a template; whole numbers are integers. */
export function toValue(plain: unknown): Value {
  if (typeof plain === 'number') return Number.isInteger(plain) ? BigInt(plain) : plain;
  if (Array.isArray(plain)) return plain.map(toValue);
  if (isValueOwn(plain)) return plain;
  if (typeof plain === 'object') {
    return new Map(Object.entries(plain).map(([key, item]) => [key, toValue(item)]));
  }
  throw new TemplateError(`a ${typeof plain} is no value of a template`);
}

function isValueOwn(plain: unknown): plain is Exclude<Value, readonly Value[] | number> {
  return (
    plain === undefined ||
    plain === null ||
    ['string', 'boolean', 'bigint'].includes(typeof plain) ||
    plain instanceof Map ||
    plain instanceof Tuple
  );
}
