import type { SchemaElement } from 'hyparquet';
import { firstRepeated } from '../first-repeated';

/** What a column holds, beyond what its values say themselves. */
export interface Column {
  readonly kind: 'float' | 'decimal' | 'json' | 'time' | 'list' | 'map' | 'other';
  /** Of decimals: digits behind the point. */
  readonly scale: number;
  /** Of a list its elements, of a map its values. */
  readonly element: Column | null;
  /** Of a map. */
  readonly key: Column | null;
  readonly children: ReadonlyMap<string, Column>;
}

const NO_CHILDREN: ReadonlyMap<string, Column> = new Map();

export const UNKNOWN_COLUMN: Column = {
  ...{ kind: 'other', scale: 0, element: null, key: null, children: NO_CHILDREN },
};

/**
 * The schema that the reader is given: decimals are to come as their digits, of which it would make floats, and maps as their
 * entries, of which it would keep one for each key. Newer types come under the older names that it knows.
 */
export function exactSchema(schema: readonly SchemaElement[]): SchemaElement[] {
  return schema.map((element) => {
    const { converted_type: older, logical_type: newer, ...untyped } = element;
    if (isMap(element) || older === 'INTERVAL') return untyped;
    // Bytes of no fixed length would be read as text; those of a geometry are given to a parser.
    if (isDecimal(element))
      return element.type === 'BYTE_ARRAY' ? { ...untyped, logical_type: { type: 'GEOMETRY' } } : untyped;
    const isNew = older === undefined && (newer?.type === 'LIST' || newer?.type === 'DATE');
    return isNew ? { ...element, converted_type: newer.type } : element;
  });
}

/** The row as a column whose children are the file's. */
export function columnsOf(schema: readonly SchemaElement[]): Column {
  return columnAt(schema, 0).column;
}

interface Placed {
  readonly element: SchemaElement;
  readonly column: Column;
  readonly children: readonly Placed[];
  /** Where the next one begins: the file lists them depth first. */
  readonly end: number;
}

function columnAt(schema: readonly SchemaElement[], index: number): Placed {
  const element = schema[index] ?? { name: '' };
  const children: Placed[] = [];
  let end = index + 1;
  for (let count = element.num_children ?? 0; count > 0 && end < schema.length; count--) {
    const child = columnAt(schema, end);
    children.push(child);
    end = child.end;
  }
  return { element, column: columnOf(element, children), children, end };
}

function columnOf(element: SchemaElement, children: readonly Placed[]): Column {
  const [group] = children;
  if (!group) return { ...UNKNOWN_COLUMN, kind: leafKind(element), scale: scaleOf(element) };
  if (element.converted_type === 'LIST' || element.logical_type?.type === 'LIST') return listOf(group);
  const [key, value] = group.children;
  if (isMap(element) && key && value)
    return { ...UNKNOWN_COLUMN, kind: 'map', element: value.column, key: key.column };
  const twice = firstRepeated(children.map((child) => child.element.name));
  if (twice !== undefined)
    throw new Error(`two of its columns are called "${twice}", of which one would be lost`);
  return {
    ...UNKNOWN_COLUMN,
    children: new Map(children.map((child) => [child.element.name, child.column])),
  };
}

function listOf(group: Placed): Column {
  const [only] = group.children;
  const item = only && group.children.length === 1 ? only : group;
  return { ...UNKNOWN_COLUMN, kind: 'list', element: item.column };
}

/** Each value is written with as many zeros. */
const MOST_DECIMALS = 1000;

function scaleOf({ name, scale = 0 }: SchemaElement): number {
  if (scale >= 0 && scale <= MOST_DECIMALS) return scale;
  throw new Error(`its column "${name}" has ${scale} digits behind the point`);
}

/** By the names of old and new types. */
const LEAF_KINDS = new Map<string, Column['kind']>([
  ['DECIMAL', 'decimal'],
  ['TIME', 'time'],
  ['TIME_MILLIS', 'time'],
  ['TIME_MICROS', 'time'],
  ['JSON', 'json'],
  ['FLOAT16', 'float'],
  ['FLOAT', 'float'],
  ['DOUBLE', 'float'],
]);

function leafKind({ type, converted_type: older, logical_type: newer }: SchemaElement): Column['kind'] {
  const kinds = [older, newer?.type, type].map((name) => LEAF_KINDS.get(name ?? ''));
  return kinds.find((kind) => kind !== undefined) ?? 'other';
}

function isDecimal({ converted_type, logical_type }: SchemaElement): boolean {
  return converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL';
}

function isMap({ converted_type, logical_type }: SchemaElement): boolean {
  return converted_type === 'MAP' || converted_type === 'MAP_KEY_VALUE' || logical_type?.type === 'MAP';
}
