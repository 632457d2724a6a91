import {
  allLinears,
  adapterLayout,
  baseLayout,
  HEAD,
  EMBEDDING,
  layerPath,
  loraName,
  loraScaling,
  paddedRank,
} from './layout';
import type { Kernels, Pointer } from './kernels';
import type { Layout, LoraTargets } from './layout';
import type { ModelShape } from './model-shape';

/** Where a model's parameters lie in shared memory; plain data, so that it can be posted to a thread. */
export interface NetworkDescription {
  readonly shape: ModelShape;
  /** A block laid out by `baseLayout`. */
  readonly weights: Pointer;
  /** The matrices are already packed for the matrix product, adapters merged: read-only networks that sample. */
  readonly isPacked: boolean;
  /** Cosines, then sines, of every position. */
  readonly rotations: Pointer;
  readonly adapter: { readonly targets: LoraTargets; readonly weights: Pointer } | null;
}

export interface AdapterMatrices {
  /** Padded. */
  readonly rank: number;
  readonly scaling: number;
  readonly a: Pointer;
  readonly b: Pointer;
  readonly gradientA: Pointer;
  readonly gradientB: Pointer;
}

export interface Linear {
  readonly inputs: number;
  readonly outputs: number;
  readonly weight: Pointer;
  readonly isPacked: boolean;
  /** 0 when frozen. */
  readonly gradient: Pointer;
  readonly adapter: AdapterMatrices | null;
}

export interface Parameter {
  readonly pointer: Pointer;
  /** 0 when frozen. */
  readonly gradient: Pointer;
}

/** What one layer is made of, looked up once: finding a name takes as long as a small matrix product. */
export interface LayerParameters {
  readonly inputNorm: Parameter;
  readonly queries: Linear;
  readonly keys: Linear;
  readonly values: Linear;
  readonly attended: Linear;
  readonly feedForwardNorm: Parameter;
  readonly gate: Linear;
  readonly up: Linear;
  readonly down: Linear;
}

const layouts = new Map<string, Layout>();

function cached(kind: string, key: unknown, create: () => Layout): Layout {
  const text = kind + JSON.stringify(key);
  const known = layouts.get(text);
  if (known !== undefined) return known;
  const layout = create();
  layouts.set(text, layout);
  return layout;
}

/** A sampler's block gives the head a place of its own, because the embedding is not packed. */
export function weightsLayout(shape: ModelShape, isPacked: boolean): Layout {
  const laidOut = isPacked ? { ...shape, tied: false } : shape;
  return cached('weights', laidOut, () => baseLayout(laidOut));
}

export function trainableLayout(shape: ModelShape, targets: LoraTargets | null): Layout {
  if (targets === null) return weightsLayout(shape, false);
  return cached('adapter', [shape, targets], () => adapterLayout(shape, targets));
}

/** Finds parameters and their gradients by name. */
export class Network {
  readonly shape: ModelShape;
  private readonly linears: ReadonlyMap<string, Linear>;
  private readonly layout: Layout;
  private resolvedLayers: readonly LayerParameters[] | null = null;

  constructor(
    readonly description: NetworkDescription,
    /** A block laid out as the trainable parameters, or 0 when nothing is to be trained. */
    private readonly gradients: Pointer,
  ) {
    this.shape = description.shape;
    this.layout = weightsLayout(description.shape, description.isPacked);
    this.linears = new Map(
      allLinears(this.shape).map(({ path, inputs, outputs }) => [path, this.resolve(path, inputs, outputs)]),
    );
  }

  get layers(): readonly LayerParameters[] {
    this.resolvedLayers ??= Array.from({ length: this.shape.layers }, (_, layer) => this.resolveLayer(layer));
    return this.resolvedLayers;
  }

  linear(path: string): Linear {
    const linear = this.linears.get(path);
    if (linear === undefined) throw new Error(`No matrix "${path}"`);
    return linear;
  }

  parameter(name: string): Parameter {
    const slot = this.layout.slots.get(name);
    if (slot === undefined) throw new Error(`No parameter "${name}"`);
    const isTrained = this.gradients !== 0 && this.description.adapter === null;
    return {
      pointer: this.description.weights + slot.offset * 4,
      gradient: isTrained ? this.gradients + slot.offset * 4 : 0,
    };
  }

  /** Zeros the gradients that a backward pass adds to; those of matrices it overwrites. */
  clearSums(kernels: Kernels): void {
    if (this.gradients === 0 || this.description.adapter !== null) return;
    const overwritten = new Set([...this.linears.values()].map(({ gradient }) => gradient));
    for (const { rows, columns, offset } of this.layout.slots.values()) {
      const gradient = this.gradients + offset * 4;
      if (!overwritten.has(gradient)) kernels.zero(rows * columns, gradient);
    }
  }

  private resolveLayer(layer: number): LayerParameters {
    const path = layerPath(layer);
    return {
      inputNorm: this.parameter(`${path}.input_layernorm.weight`),
      queries: this.linear(`${path}.self_attn.q_proj`),
      keys: this.linear(`${path}.self_attn.k_proj`),
      values: this.linear(`${path}.self_attn.v_proj`),
      attended: this.linear(`${path}.self_attn.o_proj`),
      feedForwardNorm: this.parameter(`${path}.post_attention_layernorm.weight`),
      gate: this.linear(`${path}.mlp.gate_proj`),
      up: this.linear(`${path}.mlp.up_proj`),
      down: this.linear(`${path}.mlp.down_proj`),
    };
  }

  private resolve(path: string, inputs: number, outputs: number): Linear {
    const { isPacked } = this.description;
    const isTied = path === HEAD && this.shape.tied && !isPacked;
    const { pointer, gradient } = this.parameter(isTied ? EMBEDDING : `${path}.weight`);
    return { inputs, outputs, weight: pointer, isPacked, gradient, adapter: this.resolveAdapter(path) };
  }

  private resolveAdapter(path: string): AdapterMatrices | null {
    const { adapter } = this.description;
    if (adapter === null) return null;
    const { slots } = trainableLayout(this.shape, adapter.targets);
    const a = slots.get(loraName(path, 'A'));
    const b = slots.get(loraName(path, 'B'));
    if (a === undefined || b === undefined) return null;
    return {
      rank: paddedRank(adapter.targets.rank),
      scaling: loraScaling(adapter.targets.rank),
      a: adapter.weights + a.offset * 4,
      b: adapter.weights + b.offset * 4,
      gradientA: this.gradients === 0 ? 0 : this.gradients + a.offset * 4,
      gradientB: this.gradients === 0 ? 0 : this.gradients + b.offset * 4,
    };
  }
}
