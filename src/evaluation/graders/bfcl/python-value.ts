import { isWrittenAsFloat } from '../../../core/whole-floats';

/** A value as Python sees it: `5` is not `5.0`, and a tuple is no list. */
export type PythonValue =
  | { readonly type: 'int' | 'float'; readonly value: number }
  | { readonly type: 'str'; readonly value: string }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'none' }
  | { readonly type: 'list' | 'tuple'; readonly items: readonly PythonValue[] }
  | { readonly type: 'dict'; readonly entries: ReadonlyMap<string, PythonValue> };

export interface FunctionCall {
  readonly name: string;
  readonly args: ReadonlyMap<string, PythonValue>;
}

/** A value of a JSON document, in which `5.0` is a float where the document was read so that it is kept. */
export function fromJson(value: unknown): PythonValue {
  return fromEntry(value, false);
}

function fromEntry(value: unknown, isFloat: boolean): PythonValue {
  if (typeof value === 'number')
    return { type: Number.isInteger(value) && !isFloat ? 'int' : 'float', value };
  if (typeof value === 'string') return { type: 'str', value };
  if (typeof value === 'boolean') return { type: 'bool', value };
  if (typeof value !== 'object' || value === null) return { type: 'none' };
  const entries = Object.entries(value).map(
    ([key, each]) => [key, fromEntry(each, isWrittenAsFloat(value, key))] as const,
  );
  if (Array.isArray(value)) return { type: 'list', items: entries.map(([, each]) => each) };
  return { type: 'dict', entries: new Map(entries) };
}

/** Python's `==`: numbers and truth values by their amount. */
export function areEqual(left: PythonValue, right: PythonValue): boolean {
  const [leftAmount, rightAmount] = [amountOf(left), amountOf(right)];
  if (leftAmount !== null || rightAmount !== null) return leftAmount === rightAmount;
  return left.type === right.type && areEqualOfOneType(left, right);
}

function areEqualOfOneType(left: PythonValue, right: PythonValue): boolean {
  if ('value' in left && 'value' in right) return left.value === right.value;
  if ('items' in left && 'items' in right) return areListsEqual(left.items, right.items);
  if ('entries' in left && 'entries' in right) return areDictsEqual(left.entries, right.entries);
  return true;
}

function amountOf(value: PythonValue): number | null {
  if (value.type === 'int' || value.type === 'float') return value.value;
  return value.type === 'bool' ? Number(value.value) : null;
}

function areListsEqual(left: readonly PythonValue[], right: readonly PythonValue[]): boolean {
  if (left.length !== right.length) return false;
  return left.every((item, index) => {
    const other = right[index];
    return other !== undefined && areEqual(item, other);
  });
}

function areDictsEqual(
  left: ReadonlyMap<string, PythonValue>,
  right: ReadonlyMap<string, PythonValue>,
): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([key, value]) => {
    const other = right.get(key);
    return other !== undefined && areEqual(value, other);
  });
}
