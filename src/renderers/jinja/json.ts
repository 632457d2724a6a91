import { floatText } from '../../core/python-float';
import { TemplateError, Tuple, isList, isMap, typeName } from './values';
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
export function toJson(value: Value, layout: JsonLayout, depth = 0): string {
  if (typeof value === 'string') return jsonString(value, layout);
  if (isList(value)) {
    const items = Array.from(value, (item) => toJson(item, layout, depth + 1));
    return bracketed(['[', ']'], items, { layout, depth });
  }
  if (isMap(value)) {
    const members = layout.sortsKeys ? sortedMembers(value) : [...value];
    const written = members.map(
      ([key, item]) =>
        jsonString(keyText(key), layout) + layout.keySeparator + toJson(item, layout, depth + 1),
    );
    return bracketed(['{', '}'], written, { layout, depth });
  }
  return scalarJson(value);
}

function sortedMembers(map: ReadonlyMap<Value, Value>): [Value, Value][] {
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

function jsonString(text: string, { isAscii }: JsonLayout): string {
  const json = JSON.stringify(text);
  if (!isAscii) return json;
  return json.replace(/[\u007f-\uffff]/g, (unit) =>
    unit === '\x7f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

interface Place {
  readonly layout: JsonLayout;
  readonly depth: number;
}

function bracketed(
  [open, close]: readonly [string, string],
  items: readonly string[],
  { layout: { indent, itemSeparator }, depth }: Place,
): string {
  if (indent === null || items.length === 0) return open + items.join(itemSeparator) + close;
  const line = (level: number) => `\n${' '.repeat(indent * level)}`;
  return open + line(depth + 1) + items.join(itemSeparator + line(depth + 1)) + line(depth) + close;
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
