import { hash } from 'node:crypto';

/** Hash of plain data; objects with equal entries have equal hashes whatever their order. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'hex').slice(0, 32);
}

/** A sampling seed that depends on the text alone, never on order or time. */
export function seedOf(text: string): number {
  return hash('sha256', text, 'buffer').readUInt32LE(0) >>> 1;
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, nested: unknown) => {
    if (typeof nested !== 'object' || nested === null || Array.isArray(nested)) return nested;
    return Object.fromEntries(Object.entries(nested).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
