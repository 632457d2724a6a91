import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { DomainError } from '../../../../core/errors';
import { readSafetensors, writeSafetensors } from '../../compute/safetensors';
import type { NamedTensor } from '../../model-runtime';

/** Returns the SHA-256 of what was written. */
export async function writeTensorFile(file: string, tensors: readonly NamedTensor[]): Promise<string> {
  const bytes = writeSafetensors(tensors);
  await writeFile(file, bytes);
  return sha256(bytes);
}

/** `expected` is the SHA-256 that writing returned; absent for a file from before it was kept. */
export async function readTensorFile(
  file: string,
  expected: string | undefined,
): Promise<readonly NamedTensor[]> {
  return readSafetensors(await readUnchanged(file, expected));
}

export async function readUnchanged(file: string, expected: string | undefined): Promise<Uint8Array> {
  // A plain view: the reader copies tensors with slice(), which on a Buffer would not copy.
  const { buffer, byteOffset, byteLength } = await readFile(file);
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  if (expected === undefined || sha256(bytes) === expected) return bytes;
  throw new DomainError('request-failed', 'its SHA-256 is not the one it was saved with');
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
