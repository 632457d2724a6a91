import type { Stats } from 'node:fs';
import { readdirSync, statSync } from 'node:fs';
import { familyOf, placeOf } from './process-family';

export interface HeldFiles {
  /** On the disk of the working folder. */
  readonly diskBytes: number;
  /** Elsewhere: files that are memory. */
  readonly memoryBytes: number;
}

/** So many descriptors are looked at, which are those of all processes that a program may have; looking takes this process's time. */
const MOST_DESCRIPTORS = 10_000;
const BLOCK_BYTES = 512;

/** What the processes of a program hold open of files without a name, which no folder shows. */
export function heldFiles(pid: number, folder: string): HeldFiles {
  const device = statSync(folder, { throwIfNoEntry: false })?.dev;
  const seen = new Set<string>();
  let [diskBytes, memoryBytes, count] = [0, 0, 0];
  for (const place of descriptorsOf(familyOf(pid))) {
    if (++count > MOST_DESCRIPTORS) break;
    const file = nameless(place);
    if (!file || seen.has(`${file.dev} ${file.ino}`)) continue;
    seen.add(`${file.dev} ${file.ino}`);
    if (file.dev === device) diskBytes += file.blocks * BLOCK_BYTES;
    else memoryBytes += file.blocks * BLOCK_BYTES;
  }
  return { diskBytes, memoryBytes };
}

function* descriptorsOf(pids: readonly number[]): Generator<string> {
  for (const pid of pids) {
    const folder = `${placeOf(pid)}/fd`;
    for (const name of entriesOf(folder)) yield `${folder}/${name}`;
  }
}

function nameless(place: string): Stats | null {
  try {
    const found = statSync(place);
    return found.isFile() && found.nlink === 0 ? found : null;
  } catch {
    return null;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
