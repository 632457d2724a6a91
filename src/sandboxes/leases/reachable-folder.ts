import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A folder for temporary files that programs run as nobody can be given a part of, where we run as root ourselves. */
export function reachableFolder(): string {
  const usual = tmpdir();
  if (process.getuid?.() !== 0) return usual;
  return [usual, '/tmp', '/var/tmp'].find(isReachable) ?? usual;
}

function isReachable(folder: string): boolean {
  const isOpen = ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o001) !== 0;
  return isOpen && (folder === path.dirname(folder) || isReachable(path.dirname(folder)));
}
