import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askableError } from './error-message';

/** Of a call. */
export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

const MOST_CHARACTERS = 20_000;
const MOST_OF_ROW = 500;
const FRAME = /^\s*at (?:.+? \()?((?:file:\/\/)?\/.+?):(\d+):\d+\)?$/;
/** Of this package; a plug-in may lie beneath its root, as those of a checkout's examples do. */
const OWN = [join(__dirname, '..') + sep];

/** Of an error's stack, innermost first. */
export function placesOfStack(thrown: unknown): Place[] {
  const error = askableError(thrown);
  const stack: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'stack') : null;
  if (typeof stack !== 'string') return [];
  const rows = stack.slice(0, MOST_CHARACTERS).split('\n');
  return rows.flatMap((row) => {
    const [, file, line] = (row.length <= MOST_OF_ROW && FRAME.exec(row)) || [];
    return file === undefined ? [] : [{ file, line: Number(line) }];
  });
}

/** The innermost place that is neither of this package nor of a dependency, as `file:line`; else the innermost one; null for none. */
export function firstPlace(places: readonly Place[]): string | null {
  const onDisk = places.flatMap((place) => {
    const file = place.file.startsWith('file:') ? pathOf(place.file) : place.file;
    return file.startsWith('/') ? [{ ...place, file }] : [];
  });
  const place = onDisk.find(({ file }) => isForeign(file)) ?? onDisk[0];
  return place ? `${place.file}:${place.line}` : null;
}

function isForeign(file: string): boolean {
  return !file.includes(`${sep}node_modules${sep}`) && !OWN.some((root) => file.startsWith(root));
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}
