import { keyWidth } from './model-shape';
import type { LoraConfig } from '../model-runtime';
import type { ModelShape } from './model-shape';

/** Where a tensor lies in a block of parameters. */
export interface TensorSlot {
  readonly name: string;
  /** As in files. */
  readonly shape: readonly number[];
  /** As stored: LoRA ranks are padded to a multiple of 8 with zeros, which training keeps at zero. */
  readonly rows: number;
  readonly columns: number;
  /** In floats from the start of the block. */
  readonly offset: number;
}

/** A contiguous block of parameters, so that one pass of the optimizer covers all of it. */
export interface Layout {
  readonly slots: ReadonlyMap<string, TensorSlot>;
  readonly size: number;
}

/** A matrix of the network: `outputs` rows of `inputs` columns, as Hugging Face stores it. */
export interface LinearShape {
  /** Module path, e.g. `model.layers.0.self_attn.q_proj`. */
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
}

/** The part of a LoRA config that decides its tensors. */
export type LoraTargets = Omit<LoraConfig, 'seed'>;

export const EMBEDDING = 'model.embed_tokens.weight';
export const HEAD = 'lm_head';
export const FINAL_NORM = 'model.norm.weight';
const LORA_ALPHA = 32;

export function layerPath(layer: number): string {
  return `model.layers.${layer}`;
}

export function loraScaling(rank: number): number {
  return LORA_ALPHA / rank;
}

export function paddedRank(rank: number): number {
  return Math.ceil(rank / 8) * 8;
}

export function loraName(path: string, part: 'A' | 'B'): string {
  return `base_model.model.${path}.lora_${part}.weight`;
}

function attentionLinears(shape: ModelShape, layer: number): LinearShape[] {
  const path = `${layerPath(layer)}.self_attn`;
  const keys = keyWidth(shape);
  return [
    { path: `${path}.q_proj`, inputs: shape.width, outputs: shape.width },
    { path: `${path}.k_proj`, inputs: shape.width, outputs: keys },
    { path: `${path}.v_proj`, inputs: shape.width, outputs: keys },
    { path: `${path}.o_proj`, inputs: shape.width, outputs: shape.width },
  ];
}

function mlpLinears(shape: ModelShape, layer: number): LinearShape[] {
  const path = `${layerPath(layer)}.mlp`;
  return [
    { path: `${path}.gate_proj`, inputs: shape.width, outputs: shape.feedForward },
    { path: `${path}.up_proj`, inputs: shape.width, outputs: shape.feedForward },
    { path: `${path}.down_proj`, inputs: shape.feedForward, outputs: shape.width },
  ];
}

function linearsWhere(shape: ModelShape, parts: Omit<LoraTargets, 'rank'>): LinearShape[] {
  const linears: LinearShape[] = [];
  for (let layer = 0; layer < shape.layers; layer++) {
    if (parts.trainAttn) linears.push(...attentionLinears(shape, layer));
    if (parts.trainMlp) linears.push(...mlpLinears(shape, layer));
  }
  if (parts.trainUnembed) linears.push({ path: HEAD, inputs: shape.width, outputs: shape.vocabSize });
  return linears;
}

export function allLinears(shape: ModelShape): LinearShape[] {
  return linearsWhere(shape, { trainAttn: true, trainMlp: true, trainUnembed: true });
}

function layOut(tensors: readonly Omit<TensorSlot, 'offset'>[]): Layout {
  const slots = new Map<string, TensorSlot>();
  let size = 0;
  for (const tensor of tensors) {
    slots.set(tensor.name, { ...tensor, offset: size });
    size += tensor.rows * tensor.columns;
  }
  return { slots, size };
}

function matrix(name: string, rows: number, columns: number): Omit<TensorSlot, 'offset'> {
  return { name, shape: [rows, columns], rows, columns };
}

function vector(name: string, columns: number): Omit<TensorSlot, 'offset'> {
  return { name, shape: [columns], rows: 1, columns };
}

/** All weights of a model, under the names of its `model.safetensors`. */
export function baseLayout(shape: ModelShape): Layout {
  const tensors = [matrix(EMBEDDING, shape.vocabSize, shape.width)];
  for (const { path, inputs, outputs } of allLinears(shape)) {
    if (path !== HEAD || !shape.tied) tensors.push(matrix(`${path}.weight`, outputs, inputs));
  }
  for (let layer = 0; layer < shape.layers; layer++) {
    tensors.push(vector(`${layerPath(layer)}.input_layernorm.weight`, shape.width));
    tensors.push(vector(`${layerPath(layer)}.post_attention_layernorm.weight`, shape.width));
  }
  tensors.push(vector(FINAL_NORM, shape.width));
  return layOut(tensors);
}

/** The A and B matrices of an adapter, under PEFT's names. */
export function adapterLayout(shape: ModelShape, lora: LoraTargets): Layout {
  const padded = paddedRank(lora.rank);
  return layOut(
    linearsWhere(shape, lora).flatMap(({ path, inputs, outputs }) => [
      { name: loraName(path, 'A'), shape: [lora.rank, inputs], rows: padded, columns: inputs },
      { name: loraName(path, 'B'), shape: [outputs, lora.rank], rows: outputs, columns: padded },
    ]),
  );
}
