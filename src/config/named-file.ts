import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { DomainError } from '../core/errors';

/** No config of a person has a tenth of it; a device such as /dev/zero has no end. */
const MOST_CONFIG_BYTES = 16 * 1024 * 1024;
const MOST_TOKEN_BYTES = 8192;
/** What fills a pipe, as the shell's `<(command)` is one, is waited for this long. */
const PIPE_WAIT_MS = 5000;
const LOOK_EVERY_MS = 20;

/** The text of a config that a person names: a file or a pipe, of a size that a config can have. */
export async function readConfigText(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const stream: AsyncIterable<Buffer> = createReadStream(file, { end: MOST_CONFIG_BYTES });
  for await (const chunk of stream) {
    chunks.push(chunk);
    size += chunk.length;
  }
  if (size <= MOST_CONFIG_BYTES) return Buffer.concat(chunks).toString('utf8');
  throw new DomainError('bad-config', `${file} has more than 16 MiB. Give the path of a config file.`);
}

/** The text of a small file or pipe that a person names. Throws an error that says what is in its place, or that nothing came. */
export function readTokenText(file: string): string {
  // Opening a pipe does not wait for a writer then, and no device is read.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    const other = otherKind(stats);
    if (other !== null) throw new Error(`it is ${other}`);
    return stats.isFIFO() ? readPipe(descriptor) : readFrom(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function otherKind(stats: Stats): string | null {
  if (stats.isFile() || stats.isFIFO()) return null;
  return stats.isDirectory() ? 'a folder' : 'a device or a socket';
}

function readFrom(descriptor: number): string {
  const bytes = Buffer.alloc(MOST_TOKEN_BYTES + 1);
  const size = readSync(descriptor, bytes);
  return textOf(bytes, size);
}

/** Until whoever writes there has ended. */
function readPipe(descriptor: number): string {
  const bytes = Buffer.alloc(MOST_TOKEN_BYTES + 1);
  const deadline = performance.now() + PIPE_WAIT_MS;
  let size = 0;
  while (size < bytes.length) {
    const count = readIfThere(descriptor, bytes.subarray(size));
    if (count === 0 && size > 0) break;
    size += count ?? 0;
    if (performance.now() >= deadline)
      throw new Error('it is a pipe into which nobody wrote all within 5 seconds');
    if (!count) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  }
  return textOf(bytes, size);
}

/** Null where a writer is there and has written nothing more yet. */
function readIfThere(descriptor: number, bytes: Buffer): number | null {
  try {
    return readSync(descriptor, bytes);
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return null;
    throw error;
  }
}

/** What the operating system calls it, e.g. `ENOENT`; null for another error. */
export function codeOf(error: unknown): string | null {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : null;
  return typeof code === 'string' ? code : null;
}

function textOf(bytes: Buffer, size: number): string {
  if (size > MOST_TOKEN_BYTES) throw new Error(`it has more than ${MOST_TOKEN_BYTES} bytes`);
  return bytes.toString('utf8', 0, size);
}
