import { statSync } from 'node:fs';

/** Tells a folder from one that was copied, unpacked or sent: that has another. null where there is none. */
export function inodeOf(folder: string): string | null {
  return statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino.toString() ?? null;
}
