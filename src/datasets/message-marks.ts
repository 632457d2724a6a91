import type { Fields } from './kind-of';
import { kindOf } from './kind-of';
import { RowProblem } from './row-problem';

/** How files say whether a message carries loss, and where they put what an assistant thought. */
export const LOSS_KEYS = ['trainable', 'weight', 'train', 'loss_mask'] as const;
export const REASONING_KEYS = ['reasoning_content', 'reasoning', 'thinking'] as const;

/** `weight: 0`, `train: false` and the like mean that a message carries no loss; undefined where nothing is said. */
export function readTrainable(fields: Fields, field: string): boolean | undefined {
  return theOne(LOSS_KEYS, field, (key) => {
    const value = fields[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'boolean') return value;
    const isNumber = typeof value === 'number' || typeof value === 'bigint';
    if (isNumber && (Number(value) === 0 || Number(value) === 1)) return Number(value) === 1;
    const got = isNumber ? String(value) : kindOf(value);
    throw new RowProblem(`field "${field}.${key}": expected true or false, got ${got}.`);
  });
}

/** Empty where the message does not reason. */
export function readReasoning(fields: Fields, field: string): string {
  const found = theOne(REASONING_KEYS, field, (key) => {
    const value = fields[key];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    throw new RowProblem(`field "${field}.${key}": expected text, got ${kindOf(value)}.`);
  });
  return found ?? '';
}

/** Several keys for one thing may not contradict each other. */
function theOne<Value>(
  keys: readonly string[],
  field: string,
  read: (key: string) => Value | undefined,
): Value | undefined {
  let found: { readonly key: string; readonly value: Value } | undefined;
  for (const key of keys) {
    const value = read(key);
    if (value === undefined) continue;
    if (found !== undefined && found.value !== value) {
      throw new RowProblem(
        `fields "${field}.${found.key}" and "${field}.${key}" say different things. Keep one of them.`,
      );
    }
    found ??= { key, value };
  }
  return found?.value;
}
