import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { DomainError } from '../../../../core/errors';
import { readSafetensors, writeSafetensors } from '../../compute/safetensors';
import type { NamedTensor } from '../../model-runtime';
import { readPlainFile } from './plain-file';

/** The memory that models are in has addresses of 32 bits. */
export const LARGEST_TENSOR_FILE_BYTES = 2 ** 32;

/** Returns the SHA-256 of what was written. */
export async function writeTensorFile(file: string, tensors: readonly NamedTensor[]): Promise<string> {
  const bytes = writeSafetensors(tensors);
  await writeFile(file, bytes);
  return sha256(bytes);
}

/** What a file is known to be before it is read. */
export interface ExpectedFile {
  /** As writing returned it; absent for a file from before it was kept. */
  readonly sha256: string | undefined;
  readonly mostBytes: number;
}

export async function readTensorFile(file: string, expected: ExpectedFile): Promise<readonly NamedTensor[]> {
  return readSafetensors(await readUnchanged(file, expected));
}

export async function readUnchanged(file: string, expected: ExpectedFile): Promise<Uint8Array> {
  const bytes = await readPlainFile(file, Math.min(expected.mostBytes, LARGEST_TENSOR_FILE_BYTES));
  if (expected.sha256 === undefined || sha256(bytes) === expected.sha256) return bytes;
  throw new DomainError('request-failed', 'its SHA-256 is not the one it was saved with');
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
