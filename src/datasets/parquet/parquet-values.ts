import { jsonText, rememberSource } from '../../core/json-source';
import { floatText } from '../../core/python-float';
import { firstRepeated } from '../first-repeated';
import { NotJson } from '../not-json';
import type { Column } from './parquet-columns';
import { UNKNOWN_COLUMN } from './parquet-columns';

interface Plain {
  readonly value: unknown;
  /**
   * The JSON text in which 64-bit integers and decimals keep their digits and floats are told from integers; null where it is the one that
   * is written of the value anyway, which is made of no value that nobody writes.
   */
  readonly json: string | null;
}

/** A row keeps its empty columns; structs have a null for every key that another row's has, which says nothing. */
export function plainRow(row: unknown, columns: Column): unknown {
  return isStruct(row) ? plainMembers(Object.entries(row), columns).value : row;
}

function plain(value: unknown, column: Column): Plain {
  if (value === null || value === undefined) return { value: null, json: null };
  if (column.kind === 'map') return plainMap(value, column);
  if (column.kind === 'json') return { value, json: jsonOf(value) };
  if (Array.isArray(value)) return plainList(value, column);
  if (isStruct(value)) {
    const names = column.children.size > 0 ? [...column.children.keys()] : Object.keys(value);
    const given = names.map((name) => [name, value[name]] as const);
    return plainMembers(
      given.filter(([, item]) => item !== null && item !== undefined),
      column,
    );
  }
  return plainLeaf(value, column);
}

/** Of a value that a dictionary has once and many rows refer to it is made once. */
const madeTexts = new WeakMap<object, string | null>();

function jsonOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return jsonText(value);
  const made = madeTexts.get(value);
  if (made !== undefined) return made;
  const text = jsonText(value);
  const json = text === JSON.stringify(value) ? null : text;
  madeTexts.set(value, json);
  return json;
}

function plainList(list: readonly unknown[], column: Column): Plain {
  const element = column.element ?? column;
  // The reader leaves holes for what is absent.
  const items = Array.from(list, (item) => plain(item, element));
  const values = items.map((item) => item.value);
  if (items.every(({ json }) => json === null)) return { value: values, json: null };
  return remembered(values, `[${items.map(textOf).join(',')}]`);
}

function plainMembers(members: readonly (readonly [string, unknown])[], { children }: Column): Plain {
  return struct(members.map(([key, item]) => ({ key, ...plain(item, children.get(key) ?? UNKNOWN_COLUMN) })));
}

/** A map comes as its entries: `{key_value: [{key, value}, …]}`, whatever the group in it is called. */
function plainMap(map: unknown, { element, key: keys }: Column): Plain {
  const [entries] = isStruct(map) ? Object.values(map) : [];
  if (!Array.isArray(entries)) return { value: null, json: 'null' };
  const members = entries.map((entry: unknown) => {
    const [key, value] = isStruct(entry) ? Object.values(entry) : [];
    return { key: keyOf(key, keys ?? UNKNOWN_COLUMN), ...plain(value, element ?? UNKNOWN_COLUMN) };
  });
  if (!members.every(isKeyed)) return notJson('a map whose keys are neither text nor numbers');
  const twice = firstRepeated(members.map(({ key }) => key));
  if (twice === undefined) return struct(members);
  return notJson(`a map that has the key "${twice}" twice`);
}

/** As Python writes them; null for what JSON has no key for. */
function keyOf(key: unknown, column: Column): string | null {
  if (typeof key === 'string') return key;
  const { value, json } = plainLeaf(key, column);
  if (column.kind === 'decimal' || typeof value !== 'number' || !Number.isFinite(value)) return null;
  return json ?? String(value);
}

function isKeyed<Member extends { readonly key: string | null }>(
  member: Member,
): member is Member & { readonly key: string } {
  return member.key !== null;
}

function struct(members: readonly (Plain & { readonly key: string })[]): Plain {
  const value = Object.fromEntries(members.map((member) => [member.key, member.value]));
  // Names that are numbers come first in an object, whatever their place.
  if (members.every(({ key, json }) => json === null && !/^\d/.test(key))) return { value, json: null };
  const json = members.map((member) => `${JSON.stringify(member.key)}:${textOf(member)}`).join(',');
  return remembered(value, `{${json}}`);
}

function plainLeaf(value: unknown, { kind, scale }: Column): Plain {
  if (kind === 'time') return notJson('a time of day');
  if (value instanceof NotJson) return notJson(value.what);
  if (kind === 'decimal') {
    const json = decimalText(value, scale);
    return { value: Number(json), json };
  }
  if (typeof value === 'bigint') return { value: Number(value), json: String(value) };
  if (value instanceof Uint8Array) return notJson('bytes');
  if (typeof value !== 'number') return { value, json: null };
  const isFloat = Number.isFinite(value) && (kind === 'float' || !Number.isInteger(value));
  return { value, json: isFloat ? floatText(value) : null };
}

function notJson(what: string): Plain {
  return { value: new NotJson(what), json: 'null' };
}

/** The digits as the file has them, zeros at the end included. */
function decimalText(value: unknown, scale: number): string {
  const unscaled = value instanceof Uint8Array ? signed(value) : BigInt(String(value));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const sign = unscaled < 0n ? '-' : '';
  return `${sign}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`;
}

/** Of longer ones it takes minutes to write the digits. */
const MOST_DECIMAL_BYTES = 1024;

/** Big-endian, in two's complement. */
function signed(bytes: Uint8Array): bigint {
  if (bytes.length > MOST_DECIMAL_BYTES) throw new Error(`a decimal in it takes ${bytes.length} bytes`);
  return bytes.length === 0
    ? 0n
    : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

function textOf({ value, json }: Plain): string {
  return json ?? JSON.stringify(value);
}

function remembered(value: object, json: string): Plain {
  if (json !== JSON.stringify(value)) rememberSource(value, json);
  return { value, json };
}

function isStruct(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
