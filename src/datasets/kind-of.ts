import { NotJson } from './not-json';

export type Fields = Readonly<Record<string, unknown>>;

const KINDS = new Map([
  ['undefined', 'nothing'],
  ['string', 'text'],
  ['number', 'number'],
  ['bigint', 'number'],
  ['boolean', 'true or false'],
]);

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof NotJson) return value.what;
  return KINDS.get(typeof value) ?? 'an object';
}
