import { z } from 'zod';

/**
 * A list or record that is looked at as far as its first entry that does not fit. zod would collect a fault of each, which takes a thousand
 * times as long as an entry that fits; only the first is told.
 */
export function untilFault<Whole extends z.ZodArray | z.ZodRecord>(whole: Whole) {
  const entry = whole instanceof z.ZodArray ? whole.element : whole.valueType;
  const isFault = (value: unknown) => !z.safeParse(entry, value).success;
  return z.preprocess(
    (value) => (Array.isArray(value) ? listUntil(isFault, value) : recordUntil(isFault, value)),
    whole,
  );
}

type Check = (value: unknown) => boolean;

function listUntil(isFault: Check, list: readonly unknown[]): unknown {
  const place = list.findIndex(isFault);
  return place === -1 ? list : list.slice(0, place + 1);
}

function recordUntil(isFault: Check, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const fault = Object.entries(value).find(([, entry]) => isFault(entry));
  return fault ? Object.fromEntries([fault]) : value;
}
