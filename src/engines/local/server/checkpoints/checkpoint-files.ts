import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../../../core/errors';
import type { ModelState, NamedTensor } from '../../model-runtime';
import type { CheckpointAddress } from './checkpoint-path';
import { readTensorFile, writeTensorFile } from './tensor-file';

/*
 * <folder of one checkpoint>/
 *   weights.safetensors      the adapter, or the whole model
 *   optimizer.safetensors    AdamW moments, each tensor's name behind its moment's prefix; absent without optimizer
 *   meta.json
 */
const WEIGHTS_FILE = 'weights.safetensors';
const OPTIMIZER_FILE = 'optimizer.safetensors';
const META_FILE = 'meta.json';
const FIRST_MOMENT = 'first_moment.';
const SECOND_MOMENT = 'second_moment.';

const CheckpointMeta = z.object({
  format: z.literal(1),
  modelId: z.string(),
  kind: z.enum(['weights', 'sampler_weights']),
  name: z.string(),
  baseModel: z.string(),
  lora: z
    .object({
      rank: z.int(),
      seed: z.int(),
      trainAttn: z.boolean(),
      trainMlp: z.boolean(),
      trainUnembed: z.boolean(),
    })
    .nullable(),
  /** The request that saved it. */
  sequence: z.int(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  /** null where the optimizer was not saved. */
  optimizerStep: z.int().nullable(),
  sizeBytes: z.int(),
  userMetadata: z.record(z.string(), z.unknown()).nullable(),
});
export type CheckpointMeta = z.infer<typeof CheckpointMeta>;

/** Everything about a checkpoint that its writer decides. */
export type CheckpointOrigin = CheckpointAddress &
  Pick<CheckpointMeta, 'baseModel' | 'lora' | 'sequence' | 'createdAt' | 'expiresAt' | 'userMetadata'>;

/** Fills a new folder; the caller moves it to its place when this is done. */
export async function writeCheckpoint(
  folder: string,
  origin: CheckpointOrigin,
  state: ModelState,
): Promise<CheckpointMeta> {
  await mkdir(folder, { recursive: true });
  const files = [path.join(folder, WEIGHTS_FILE)];
  await writeTensorFile(path.join(folder, WEIGHTS_FILE), state.weights);
  if (state.optimizer) {
    files.push(path.join(folder, OPTIMIZER_FILE));
    await writeTensorFile(path.join(folder, OPTIMIZER_FILE), [
      ...withPrefix(FIRST_MOMENT, state.optimizer.firstMoment),
      ...withPrefix(SECOND_MOMENT, state.optimizer.secondMoment),
    ]);
  }
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const meta: CheckpointMeta = {
    format: 1,
    modelId: origin.modelId,
    kind: origin.kind,
    name: origin.name,
    baseModel: origin.baseModel,
    lora: origin.lora,
    sequence: origin.sequence,
    createdAt: origin.createdAt,
    expiresAt: origin.expiresAt,
    userMetadata: origin.userMetadata,
    optimizerStep: state.optimizer?.step ?? null,
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
  };
  await writeMeta(folder, meta);
  return meta;
}

export async function writeMeta(folder: string, meta: CheckpointMeta): Promise<void> {
  const temporary = path.join(folder, `.${META_FILE}`);
  await writeFile(temporary, `${JSON.stringify(meta, null, 2)}\n`);
  await rename(temporary, path.join(folder, META_FILE));
}

/** null for a folder that holds no readable checkpoint. */
export async function readMeta(folder: string): Promise<CheckpointMeta | null> {
  try {
    const parsed = CheckpointMeta.safeParse(JSON.parse(await readFile(path.join(folder, META_FILE), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

export function weightsFile(folder: string): string {
  return path.join(folder, WEIGHTS_FILE);
}

export async function readWeights(folder: string): Promise<readonly NamedTensor[]> {
  return readTensorFile(weightsFile(folder));
}

export async function readState(
  folder: string,
  meta: CheckpointMeta,
  options: { readonly optimizer: boolean },
): Promise<ModelState> {
  const weights = await readWeights(folder);
  if (!options.optimizer) return { weights, optimizer: null };
  if (meta.optimizerStep === null) {
    throw new DomainError(
      'checkpoint-missing',
      `Checkpoint "${meta.name}" of ${meta.modelId} was saved without optimizer state. Load it with optimizer: false.`,
      { category: 'user' },
    );
  }
  const moments = await readTensorFile(path.join(folder, OPTIMIZER_FILE));
  return {
    weights,
    optimizer: {
      step: meta.optimizerStep,
      firstMoment: ofPrefix(FIRST_MOMENT, moments),
      secondMoment: ofPrefix(SECOND_MOMENT, moments),
    },
  };
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

function withPrefix(prefix: string, tensors: readonly NamedTensor[]): NamedTensor[] {
  return tensors.map((tensor) => ({ ...tensor, name: `${prefix}${tensor.name}` }));
}

function ofPrefix(prefix: string, tensors: readonly NamedTensor[]): NamedTensor[] {
  return tensors
    .filter(({ name }) => name.startsWith(prefix))
    .map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
}
