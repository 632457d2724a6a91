import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { unreadableKind, whyUnread } from '../datasets/local-files';

/** Nobody writes a tenth of it by hand. */
const MOST_MIB = 32;

/**
 * Why a file of code is not read; null where it is. Whoever opens a pipe waits for its writer, and a device has no end: code is a
 * plain file, or a link to one, of a size that code can have.
 */
export function whyNoCode(path: string): string | null {
  try {
    const stats = statSync(path);
    const kind = unreadableKind(path, stats);
    if (kind !== null) return kind;
    if (stats.size > MOST_MIB * 1024 * 1024) return `it has more than ${MOST_MIB} MiB`;
    accessSync(path, constants.R_OK);
    return null;
  } catch (error) {
    return whyUnread(error);
  }
}

/** What a file of code holds. Throws an error that names the file and says why it is not read. */
export function readCodeFile(path: string): Buffer {
  const reason = whyNoCode(path);
  if (reason !== null) throw new Error(`${path} cannot be read: ${reason}`);
  return readFileSync(path);
}
