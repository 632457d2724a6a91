import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { familyOf, placeOf } from './process-family';

/** Of one process, as the system tells it: a line each. */
export interface Mappings {
  /** Where the system tells of the process. */
  readonly place: string;
  readonly text: string;
}

/** Text of `/proc/<pid>/maps` that is looked at; a line has about a hundred characters, and each mapping takes that of the system's memory. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
const PART_BYTES = 256 * 1024;

/** What the processes of a program have mapped; null where that is more than can be looked at. */
export async function mappingsOf(pid: number): Promise<Mappings[] | null> {
  const mappings: Mappings[] = [];
  let characters = 0;
  for (const place of familyOf(pid).map(placeOf)) {
    const text = await beginningOf(`${place}/maps`);
    characters += text.length;
    if (characters > MOST_CHARACTERS) return null;
    mappings.push({ place, text });
  }
  return mappings;
}

/** The same of a program that stands still; of more than can be looked at the beginning. */
export function mappingsAtRest(pid: number): Mappings[] {
  return familyOf(pid)
    .map(placeOf)
    .map((place) => ({ place, text: beginningAtRest(`${place}/maps`) }));
}

/** A path in it can be megabytes long, and stand there for each mapping: no more is read than is looked at. */
async function beginningOf(file: string): Promise<string> {
  const handle = await open(file).catch(() => null);
  if (handle === null) return '';
  const parts: Buffer[] = [];
  try {
    for (let length = 0; length <= MOST_CHARACTERS;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PART_BYTES), 0, PART_BYTES);
      if (bytesRead === 0) break;
      length += bytesRead;
      parts.push(buffer.subarray(0, bytesRead));
    }
  } catch {
    // It has ended meanwhile.
  } finally {
    await handle.close();
  }
  return Buffer.concat(parts).toString('utf8');
}

function beginningAtRest(file: string): string {
  const parts: Buffer[] = [];
  let descriptor: number | null = null;
  try {
    descriptor = openSync(file, 'r');
    for (let length = 0; length <= MOST_CHARACTERS;) {
      const part = Buffer.allocUnsafe(PART_BYTES);
      const count = readSync(descriptor, part, 0, PART_BYTES, null);
      if (count === 0) break;
      length += count;
      parts.push(part.subarray(0, count));
    }
  } catch {
    // It has ended meanwhile.
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
  return Buffer.concat(parts).toString('utf8');
}
