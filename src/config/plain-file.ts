import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Records of a data folder have a few kilobytes. */
const MOST_BYTES = 1024 * 1024;

/**
 * A small file of a data folder, which somebody may have sent: whoever opens a pipe would wait for its writer, and a device has no end.
 * Throws where there is none, and where something else or a large file is in its place.
 */
export function readPlainFile(file: string): string {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MOST_BYTES) throw new Error(`${file} is no small file.`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}
