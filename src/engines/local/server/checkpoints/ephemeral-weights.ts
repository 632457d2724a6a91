import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { NamedTensor } from '../../model-runtime';
import { namingDamage } from './damage';
import { folderOf } from './checkpoint-path';
import { LARGEST_TENSOR_FILE_BYTES, readTensorFile, writeTensorFile } from './tensor-file';

/** Weights of sampling sessions that have no name: on disk rather than in memory, because a run makes one a step. */
export class EphemeralWeights {
  private readonly digests = new Map<string, string>();

  constructor(private readonly folder: string) {}

  async clear(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true });
  }

  async save(samplingSessionId: string, weights: readonly NamedTensor[]): Promise<void> {
    const file = this.fileOf(samplingSessionId);
    const digest = await writeTensorFile(`${file}.unfinished`, weights);
    this.digests.set(samplingSessionId, digest);
    await rename(`${file}.unfinished`, file);
  }

  async load(samplingSessionId: string): Promise<readonly NamedTensor[]> {
    const read = readTensorFile(this.fileOf(samplingSessionId), {
      sha256: this.digests.get(samplingSessionId),
      mostBytes: LARGEST_TENSOR_FILE_BYTES,
    });
    return namingDamage(`The weights of sampling session ${samplingSessionId}`, read);
  }

  async remove(samplingSessionId: string): Promise<void> {
    this.digests.delete(samplingSessionId);
    await rm(this.fileOf(samplingSessionId), { force: true });
  }

  private fileOf(samplingSessionId: string): string {
    return path.join(this.folder, `${folderOf(samplingSessionId)}.safetensors`);
  }
}
