import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DomainError } from '../../../core/errors';
import { baseLayout } from './layout';
import { parseModelShape } from './model-shape';
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

/** The given folders and the folders in them, wherever there is a `config.json`. The first of a name wins. */
export function findModels(folders: readonly string[]): ReadonlyMap<string, FoundModel> {
  const models = new Map<string, FoundModel>();
  for (const folder of folders.flatMap(candidates)) {
    const model = describeModel(folder);
    if (!models.has(model.info.name)) models.set(model.info.name, model);
  }
  return models;
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
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof value === 'object' && value !== null) return { ...value };
  throw new DomainError('bad-config', `${file} is not a JSON object.`);
}

function describeModel(folder: string): FoundModel {
  const config = readObject(path.join(folder, 'config.json'));
  const shape = parseModelShape(config);
  const given = config['_name_or_path'];
  const name = typeof given === 'string' && given !== '' ? given : path.basename(folder);
  const eos: unknown[] = [config['eos_token_id']].flat();
  return {
    info: { name, folder, contextLength: shape.contextLength, vocabSize: shape.vocabSize },
    shape,
    eosTokens: eos.filter((token): token is number => typeof token === 'number'),
  };
}

export function loadModel(heap: SharedHeap, model: FoundModel): LoadedModel {
  const file = path.join(model.info.folder, 'model.safetensors');
  if (!existsSync(file)) {
    throw new DomainError(
      'unknown-model',
      `${file} is missing. Put the weights of "${model.info.name}" there.`,
    );
  }
  const layout = baseLayout(model.shape);
  const weights = heap.allocate(layout.size, `the weights of "${model.info.name}"`);
  importTensors(heap.view(weights, layout.size), layout, readSafetensors(readFileSync(file)));
  return { ...model, weights, rotations: writeRotations(heap, model.shape) };
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
