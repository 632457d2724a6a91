import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { DomainError } from '../../../core/errors';
import { baseLayout } from './layout';
import { parameterCount, parseModelShape } from './model-shape';
import { readSafetensors } from './safetensors';
import { importTensors } from './tensor-blocks';
import type { BaseModelInfo } from '../model-runtime';
import type { Pointer } from './kernels';
import type { ModelShape } from './model-shape';
import type { SharedHeap } from './shared-heap';

/** A model folder that was found, its weights not read yet. */
export interface FoundModel {
  readonly info: BaseModelInfo;
  readonly shape: ModelShape;
  readonly eosTokens: readonly number[];
}

/** A base model in shared memory: its adapters and samplers read these weights. */
export interface LoadedModel extends FoundModel {
  readonly weights: Pointer;
  readonly rotations: Pointer;
}

/** A model's folder, and what it is called whatever its configuration says. */
export interface NamedModel {
  readonly name: string;
  readonly folder: string;
}

const MODEL_FILES = ['config.json', 'model.safetensors', 'tokenizer.json'];

/** The given folders and the folders in them, wherever there is a `config.json`. The first of a name wins. */
export function findModels(folders: readonly string[]): ReadonlyMap<string, FoundModel> {
  const models = new Map<string, FoundModel>();
  for (const folder of folders.flatMap(candidates)) {
    const model = describeModel(folder);
    if (!models.has(model.info.name)) models.set(model.info.name, model);
  }
  return models;
}

/** Adds models under names of one's own. What clients know a model by is its name, so that none has two folders. */
export function addNamedModels(
  models: ReadonlyMap<string, FoundModel>,
  named: readonly NamedModel[],
): ReadonlyMap<string, FoundModel> {
  const all = new Map(models);
  for (const { name, folder } of named) {
    if (all.has(name)) {
      throw new DomainError(
        'bad-config',
        `There is a base model "${name}" already. Give ${folder} another name.`,
      );
    }
    const missing = MODEL_FILES.filter((file) => !existsSync(path.join(folder, file)));
    if (missing.length > 0) {
      throw new DomainError(
        'bad-config',
        `${folder} has no ${missing.join(' and no ')}. Give the folder of a model as Hugging Face lays it out.`,
      );
    }
    const model = describeModel(folder);
    all.set(name, { ...model, info: { ...model.info, name } });
  }
  return all;
}

function candidates(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const inside = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => path.join(folder, entry.name))
    .sort();
  return [folder, ...inside].filter((candidate) => existsSync(path.join(candidate, 'config.json')));
}

function readObject(file: string): Readonly<Record<string, unknown>> {
  const value: unknown = parseJson(readFileSync(file, 'utf8'));
  if (typeof value === 'object' && value !== null) return { ...value };
  throw new DomainError('bad-config', `${file} is not a JSON object.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function describeModel(folder: string): FoundModel {
  const config = readObject(path.join(folder, 'config.json'));
  const shape = namingFolder(folder, () => parseModelShape(config));
  const given = config['_name_or_path'];
  const name = typeof given === 'string' && given !== '' ? given : path.basename(folder);
  const eos: unknown[] = [config['eos_token_id']].flat();
  return {
    info: { name, folder, contextLength: shape.contextLength, vocabSize: shape.vocabSize },
    shape,
    eosTokens: eos.filter((token): token is number => typeof token === 'number'),
  };
}

function namingFolder<Value>(folder: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError(error.code, `${folder}: ${error.message}`, { category: 'user', cause: error });
  }
}

export function loadModel(heap: SharedHeap, model: FoundModel): LoadedModel {
  const file = path.join(model.info.folder, 'model.safetensors');
  if (!existsSync(file)) {
    throw new DomainError(
      'unknown-model',
      `${file} is missing. Put the weights of "${model.info.name}" there.`,
    );
  }
  const { folder } = model.info;
  namingFolder(folder, () => {
    requireWeightsFor(model.shape, statSync(file).size);
  });
  const layout = baseLayout(model.shape);
  const weights = heap.allocate(layout.size, `the weights of "${model.info.name}"`);
  try {
    namingFolder(folder, () => {
      importTensors(heap.view(weights, layout.size), layout, readSafetensors(readFileSync(file)));
    });
    return { ...model, weights, rotations: writeRotations(heap, model.shape) };
  } catch (error) {
    heap.free(weights);
    throw error;
  }
}

/** Of the types that are read, the smallest. */
const LEAST_BYTES = 2;

/** What a configuration names takes memory before any weight is looked at. */
function requireWeightsFor(shape: ModelShape, fileSize: number): void {
  const named = parameterCount(shape);
  const most = Math.floor(fileSize / LEAST_BYTES);
  if (named <= most) return;
  throw new DomainError(
    'bad-config',
    `config.json names a model of ${named} weights, and model.safetensors has room for ${most}. Put the two files of one model there.`,
  );
}

function writeRotations(heap: SharedHeap, { headWidth, contextLength, ropeTheta }: ModelShape): Pointer {
  const half = headWidth / 2;
  const count = contextLength * half;
  const pointer = heap.allocate(2 * count, 'position embeddings');
  const table = heap.view(pointer, 2 * count);
  for (let position = 0; position < contextLength; position++) {
    for (let index = 0; index < half; index++) {
      const angle = position / ropeTheta ** (index / half);
      table[position * half + index] = Math.cos(angle);
      table[count + position * half + index] = Math.sin(angle);
    }
  }
  return pointer;
}
