import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { NamedTensor } from '../../model-runtime';
import { removeFolder } from './checkpoint-files';
import { folderOf } from './checkpoint-path';
import { readTensorFile, writeTensorFile } from './tensor-file';

/** Weights of sampling sessions that have no name: on disk rather than in memory, because a run makes one a step. */
export class EphemeralWeights {
  constructor(private readonly folder: string) {}

  async clear(): Promise<void> {
    await removeFolder(this.folder);
    await mkdir(this.folder, { recursive: true });
  }

  async save(samplingSessionId: string, weights: readonly NamedTensor[]): Promise<void> {
    const file = this.fileOf(samplingSessionId);
    await writeTensorFile(`${file}.unfinished`, weights);
    await rename(`${file}.unfinished`, file);
  }

  async load(samplingSessionId: string): Promise<readonly NamedTensor[]> {
    return readTensorFile(this.fileOf(samplingSessionId));
  }

  async remove(samplingSessionId: string): Promise<void> {
    await removeFolder(this.fileOf(samplingSessionId));
  }

  private fileOf(samplingSessionId: string): string {
    return path.join(this.folder, `${folderOf(samplingSessionId)}.safetensors`);
  }
}
