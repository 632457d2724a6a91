import { link, lstat, mkdir, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../../../core/errors';
import type { ModelState, NamedTensor } from '../../model-runtime';
import { digestOf } from '../body-digest';
import { ageRecipients, LARGEST_NUMBER, LARGEST_RANK, userMetadata } from '../request-bounds';
import type { CheckpointAddress } from './checkpoint-path';
import { formatCheckpointPath } from './checkpoint-path';
import { isMissing, namingDamage } from './damage';
import { readPlainFile } from './plain-file';
import type { ExpectedFile } from './tensor-file';
import { LARGEST_TENSOR_FILE_BYTES, readTensorFile, readUnchanged, writeTensorFile } from './tensor-file';

/*
 * <folder of one checkpoint>/
 *   weights.safetensors      the adapter, or the whole model
 *   optimizer.safetensors    AdamW moments, each tensor's name behind its moment's prefix; absent without optimizer
 *   meta.json
 */
const WEIGHTS_FILE = 'weights.safetensors';
const OPTIMIZER_FILE = 'optimizer.safetensors';
const META_FILE = 'meta.json';
/** A request that says more in its metadata is refused before. */
const LARGEST_META_BYTES = 2 ** 26;
const FIRST_MOMENT = 'first_moment.';
const SECOND_MOMENT = 'second_moment.';

/** What a person put there by hand is bounded as requests are, since nothing else is made of them. */
const CheckpointMeta = z.object({
  format: z.literal(1),
  modelId: z.string(),
  kind: z.enum(['weights', 'sampler_weights', 'external_weights']),
  name: z.string(),
  baseModel: z.string().min(1).max(300),
  lora: z
    .object({
      rank: z.int().min(1).max(LARGEST_RANK),
      seed: z.int(),
      trainAttn: z.boolean(),
      trainMlp: z.boolean(),
      trainUnembed: z.boolean(),
    })
    .nullable(),
  /** The request that saved it. */
  sequence: z.int().min(0).max(LARGEST_NUMBER),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  /** null where the optimizer was not saved. */
  optimizerStep: z.int().min(0).max(LARGEST_NUMBER).nullable(),
  /** Of weights and optimizer together. */
  sizeBytes: z
    .int()
    .min(0)
    .max(2 * LARGEST_TENSOR_FILE_BYTES),
  userMetadata: userMetadata.nullable(),
  /** Whom the files are encrypted to when they are handed out; they lie here as they are. */
  ageRecipients: ageRecipients.optional(),
  /** SHA-256 of each file; absent in checkpoints from before it was kept. */
  sha256: z.record(z.string(), z.string()).optional(),
});
export type CheckpointMeta = z.infer<typeof CheckpointMeta>;

/** The digest of all the rest, because a changed number here spoils a checkpoint as a changed weight does. */
const MetaSeal = z.looseObject({ digest: z.string().optional() });

/** Everything about a checkpoint that its writer decides. */
export type CheckpointOrigin = CheckpointAddress &
  Pick<
    CheckpointMeta,
    'baseModel' | 'lora' | 'sequence' | 'createdAt' | 'expiresAt' | 'userMetadata' | 'ageRecipients'
  >;

/** Fills a new folder; the caller moves it to its place when this is done. */
export async function writeCheckpoint(
  folder: string,
  origin: CheckpointOrigin,
  state: ModelState,
): Promise<CheckpointMeta> {
  await mkdir(folder, { recursive: true });
  const tensors: Record<string, readonly NamedTensor[]> = {
    [WEIGHTS_FILE]: state.weights,
    ...(state.optimizer && {
      [OPTIMIZER_FILE]: [
        ...withPrefix(FIRST_MOMENT, state.optimizer.firstMoment),
        ...withPrefix(SECOND_MOMENT, state.optimizer.secondMoment),
      ],
    }),
  };
  const digests: Record<string, string> = {};
  for (const [name, content] of Object.entries(tensors)) {
    digests[name] = await writeTensorFile(path.join(folder, name), content);
  }
  const sizes = await Promise.all(
    Object.keys(tensors).map(async (name) => (await stat(path.join(folder, name))).size),
  );
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
    ...(origin.ageRecipients && { ageRecipients: origin.ageRecipients }),
    optimizerStep: state.optimizer?.step ?? null,
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    sha256: digests,
  };
  await writeMeta(folder, meta);
  return meta;
}

/**
 * Keeps the same weights once: the file of a checkpoint that is whole takes the place of one with the same bytes. Files of checkpoints
 * are replaced and never written to, so that what becomes of one name is nothing to the other.
 */
export async function shareWeights(from: CheckpointFolder, to: CheckpointFolder): Promise<void> {
  const digest = from.meta.sha256?.[WEIGHTS_FILE];
  if (digest === undefined || digest !== to.meta.sha256?.[WEIGHTS_FILE]) return;
  const [source, target] = [path.join(from.folder, WEIGHTS_FILE), path.join(to.folder, WEIGHTS_FILE)];
  const beside = path.join(to.folder, `.${WEIGHTS_FILE}`);
  try {
    const [there, here] = [await lstat(source), await lstat(target)];
    if (!there.isFile() || there.size !== here.size) return;
    await link(source, beside);
    await rename(beside, target);
  } catch {
    // Gone, or no links here: then there are two files.
    await rm(beside, { force: true });
  }
}

export interface CheckpointFolder {
  readonly folder: string;
  readonly meta: CheckpointMeta;
}

export async function writeMeta(folder: string, meta: CheckpointMeta): Promise<void> {
  await requireOwnFolder(folder);
  const temporary = path.join(folder, `.${META_FILE}`);
  // As it will be read: JSON does not keep every number that people put in their metadata.
  const digest = digestOf(JSON.parse(JSON.stringify(meta)));
  // What lies there already, a link above all, is not written to.
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify({ ...meta, digest }, null, 2)}\n`, { flag: 'wx' });
  await rename(temporary, path.join(folder, META_FILE));
}

/** null for a folder that holds no readable checkpoint. What it says of its address is only what somebody wrote. */
export async function readMeta(folder: string): Promise<CheckpointMeta | null> {
  try {
    const bytes = await readPlainFile(path.join(folder, META_FILE), LARGEST_META_BYTES);
    const { digest, ...meta } = MetaSeal.parse(JSON.parse(new TextDecoder().decode(bytes)));
    const isIntact = digest === undefined || digest === digestOf(meta);
    return isIntact ? CheckpointMeta.parse(meta) : null;
  } catch {
    return null;
  }
}

/** The weights' file as it lies there. */
export async function readWeightsFile(folder: string, meta: CheckpointMeta): Promise<Uint8Array> {
  return readAs(readUnchanged, { folder, meta, file: WEIGHTS_FILE });
}

export async function readWeights(folder: string, meta: CheckpointMeta): Promise<readonly NamedTensor[]> {
  return readAs(readTensorFile, { folder, meta, file: WEIGHTS_FILE });
}

export async function readState(
  folder: string,
  meta: CheckpointMeta,
  options: { readonly optimizer: boolean },
): Promise<ModelState> {
  const weights = await readWeights(folder, meta);
  if (!options.optimizer) return { weights, optimizer: null };
  if (meta.optimizerStep === null) {
    throw new DomainError(
      'checkpoint-missing',
      `Checkpoint "${meta.name}" of ${meta.modelId} was saved without optimizer state. Load it with optimizer: false.`,
      { category: 'user' },
    );
  }
  const moments = await readAs(readTensorFile, { folder, meta, file: OPTIMIZER_FILE });
  return {
    weights,
    optimizer: {
      step: meta.optimizerStep,
      firstMoment: ofPrefix(FIRST_MOMENT, moments),
      secondMoment: ofPrefix(SECOND_MOMENT, moments),
    },
  };
}

/** Names of folders; a link to one is none. */
export async function subfoldersOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** False where there is nothing it could lie in; throws where that is not beneath the root, or only by a link on the way. */
export async function liesBeneath(root: string, folder: string): Promise<boolean> {
  const parent = path.dirname(folder);
  const between = path.relative(root, parent);
  try {
    const isBelow = !path.isAbsolute(between) && !between.split(path.sep).includes('..');
    if (isBelow && (await realpath(parent)) === path.join(await realpath(root), between)) return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  throw new Error(`${folder} is left alone: it does not lie in ${root}, or only by a link.`);
}

/** Of a link in its place the link alone goes. */
export async function removeBeneath(root: string, folder: string): Promise<void> {
  if (await liesBeneath(root, folder)) await rm(folder, { recursive: true, force: true });
}

async function readAs<Value>(
  read: (file: string, expected: ExpectedFile) => Promise<Value>,
  { folder, meta, file }: { readonly folder: string; readonly meta: CheckpointMeta; readonly file: string },
): Promise<Value> {
  const expected = { sha256: meta.sha256?.[file], mostBytes: meta.sizeBytes };
  const reading = requireOwnFolder(folder).then(() => read(path.join(folder, file), expected));
  return namingDamage(`${file} of checkpoint ${formatCheckpointPath(meta)}`, reading);
}

/** Of the root a checkpoint's folder lies three deep, and no link stands for any of them. */
async function requireOwnFolder(folder: string): Promise<void> {
  const root = path.resolve(folder, '..', '..', '..');
  const own = path.join(await realpath(root), path.relative(root, folder));
  if ((await realpath(folder)) !== own)
    throw new DomainError('request-failed', `${folder} is reached by a link`, { category: 'user' });
}

function withPrefix(prefix: string, tensors: readonly NamedTensor[]): NamedTensor[] {
  return tensors.map((tensor) => ({ ...tensor, name: `${prefix}${tensor.name}` }));
}

function ofPrefix(prefix: string, tensors: readonly NamedTensor[]): NamedTensor[] {
  return tensors
    .filter(({ name }) => name.startsWith(prefix))
    .map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
}
