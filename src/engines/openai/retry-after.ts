import { largestOf, smallestOf } from '../../core/extremes';
import type { HttpHeaders } from './http-exchange';

/** Longer waits are taken in pieces of this length: the limit may be lifted earlier. */
const LONGEST_WAIT_MS = 10 * 60_000;
/** Numbers above are points in time and not durations. */
const EARLIEST_EPOCH_SECONDS = 1e9;
const EARLIEST_EPOCH_MS = 1e12;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How long a server asks to wait; null where it does not say. */
export function retryAfterMs(headers: HttpHeaders, now: number): number | null {
  return bounded(
    millisecondsIn(headerOf(headers, 'retry-after-ms')) ?? waitIn(headerOf(headers, 'retry-after'), now),
  );
}

/** The same for a server that is full, which may only say when its limits are lifted. */
export function capacityWaitMs(headers: HttpHeaders, now: number): number | null {
  return retryAfterMs(headers, now) ?? bounded(untilReset(headers, now));
}

function bounded(waitMs: number | null): number | null {
  return waitMs === null ? null : Math.min(Math.max(waitMs, 0), LONGEST_WAIT_MS);
}

function headerOf(headers: HttpHeaders, name: string): string | null {
  const value = headers[name];
  const text = typeof value === 'string' ? value : value?.[0];
  return text === undefined || text.trim() === '' ? null : text.trim();
}

function millisecondsIn(text: string | null): number | null {
  const value = Number(text ?? 'none');
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** Seconds, a Go duration (`6m0s`, `20ms`), a date, or a point in time since 1970. */
function waitIn(text: string | null, now: number): number | null {
  if (text === null) return null;
  const value = Number(text);
  if (Number.isFinite(value)) return waitForNumber(value, now);
  const pieces = [...text.matchAll(/(?<!\d)(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (pieces.length > 0 && pieces.map(([piece]) => piece).join('') === text) {
    return pieces.reduce((sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit ?? ''] ?? 0), 0);
  }
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at - now;
}

function waitForNumber(value: number, now: number): number | null {
  if (value < 0) return null;
  if (value >= EARLIEST_EPOCH_MS) return value - now;
  return value >= EARLIEST_EPOCH_SECONDS ? value * 1000 - now : value * 1000;
}

/** `x-ratelimit-reset-*`: of the limits that are used up the last one counts, else the first. */
function untilReset(headers: HttpHeaders, now: number): number | null {
  const limits = Object.keys(headers).flatMap((name) => {
    const match = /^x-ratelimit-reset(-.+)?$/.exec(name);
    if (!match) return [];
    const [, kind = ''] = match;
    const waitMs = waitIn(headerOf(headers, name), now);
    const isUsedUp = headerOf(headers, `x-ratelimit-remaining${kind}`) === '0';
    return waitMs === null ? [] : [{ waitMs, isUsedUp }];
  });
  const usedUp = limits.filter(({ isUsedUp }) => isUsedUp).map(({ waitMs }) => waitMs);
  if (usedUp.length > 0) return largestOf(usedUp);
  return limits.length > 0 ? smallestOf(limits.map(({ waitMs }) => waitMs)) : null;
}
