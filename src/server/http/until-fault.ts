import { z } from 'zod';

/** More than any list or record of a request has, and few enough to be looked at in no time. */
const MOST_ENTRIES = 100_000;

/**
 * A list or record that is looked at as far as its first entry that does not fit, and not at all where it has too many. zod would collect
 * a fault of each, which takes a thousand times as long as an entry that fits; only the first is told.
 */
export function untilFault<Whole extends z.ZodArray | z.ZodRecord>(whole: Whole, most = MOST_ENTRIES) {
  const entry = whole instanceof z.ZodArray ? whole.element : whole.valueType;
  const isFault = (value: unknown) => !z.safeParse(entry, value).success;
  return z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null) return value;
    const count = Array.isArray(value) ? value.length : Object.keys(value).length;
    if (count > most) {
      context.addIssue({ code: 'custom', message: `has ${count} entries; at most ${most} are taken` });
      return z.NEVER;
    }
    return Array.isArray(value) ? listUntil(isFault, value) : recordUntil(isFault, value);
  }, whole);
}

type Check = (value: unknown) => boolean;

function listUntil(isFault: Check, list: readonly unknown[]): unknown {
  const place = list.findIndex(isFault);
  return place === -1 ? list : list.slice(0, place + 1);
}

function recordUntil(isFault: Check, value: object): unknown {
  const fault = Object.entries(value).find(([, entry]) => isFault(entry));
  return fault ? Object.fromEntries([fault]) : value;
}
