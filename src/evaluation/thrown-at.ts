import path from 'node:path';
import { DomainError } from '../core/errors';
import { messageOf } from './error-message';

/** Of this very code, compiled or as source. */
const OURS = path.join(__dirname, '..') + path.sep;
const MOST_CHARACTERS = 5000;
const FRAME = /(?:\s|\()((?:file:\/\/)?\/[^()\n]*?:\d+:\d+)\)?$/;

/** The line of somebody's own code in which an error was thrown, as `FILE:LINE:COLUMN`; null where there is none, or no telling. */
export function thrownAt(error: unknown): string | null {
  return innermostOfOthers(
    stackOf(error)
      .split('\n')
      .flatMap((line) => FRAME.exec(line.trim())?.[1] ?? []),
  );
}

/** Of places of a call, innermost first, the one in somebody's own code: neither in this package nor in a dependency. */
export function innermostOfOthers(places: readonly string[]): string | null {
  const files = places.map(withoutScheme).filter((place) => place.startsWith('/'));
  return files.find((place) => !place.startsWith(OURS) && !place.includes('/node_modules/')) ?? null;
}

function withoutScheme(place: string): string {
  if (!place.startsWith('file://')) return place;
  const file = place.slice('file://'.length);
  try {
    return decodeURIComponent(file);
  } catch {
    return file;
  }
}

/** What was thrown, with the line of somebody's own code that threw it; what the domain can name says what is wrong itself. */
export function messageWithPlace(thrown: unknown): string {
  const place = thrown instanceof DomainError ? null : thrownAt(thrown);
  const message = messageOf(thrown);
  return place === null ? message : `${message} (thrown at ${place})`;
}

function stackOf(error: unknown): string {
  try {
    const stack: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'stack') : null;
    if (typeof stack !== 'string') return '';
    // The message stands first, and may be as long as it likes.
    const start = stack.search(/\n {4}at /);
    return start < 0 ? '' : stack.slice(start, start + MOST_CHARACTERS);
  } catch {
    return '';
  }
}
