import { readFile, writeFile } from 'node:fs/promises';
import { readSafetensors, writeSafetensors } from '../../compute/safetensors';
import type { NamedTensor } from '../../model-runtime';

export async function writeTensorFile(file: string, tensors: readonly NamedTensor[]): Promise<void> {
  await writeFile(file, writeSafetensors(tensors));
}

export async function readTensorFile(file: string): Promise<readonly NamedTensor[]> {
  // A plain view: the reader copies tensors with slice(), which on a Buffer would not copy.
  const { buffer, byteOffset, byteLength } = await readFile(file);
  return readSafetensors(new Uint8Array(buffer, byteOffset, byteLength));
}
