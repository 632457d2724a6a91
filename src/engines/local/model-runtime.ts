import type { AdamParams, Datum, ForwardBackwardResult, LossFunction } from '../../core/datum';
import type { SampleRequest, SampleResult } from '../../core/sampling';

/**
 * The seam inside the local engine: the protocol server above, the CPU arithmetic below.
 *
 * Everything here is deterministic: results depend on weights, inputs and seeds alone, never on thread
 * count, on what else is in flight, on names or on time.
 */

export interface LoraConfig {
  readonly rank: number;
  readonly seed: number;
  readonly trainAttn: boolean;
  readonly trainMlp: boolean;
  readonly trainUnembed: boolean;
}

export interface BaseModelInfo {
  readonly name: string;
  /** Folder with config.json, model.safetensors, tokenizer.json and tokenizer_config.json. */
  readonly folder: string;
  readonly contextLength: number;
  readonly vocabSize: number;
}

export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Weights (the adapter alone for LoRA) and, when asked for, the AdamW moments: lossless in both directions. */
export interface ModelState {
  readonly weights: readonly NamedTensor[];
  readonly optimizer: {
    readonly step: number;
    readonly firstMoment: readonly NamedTensor[];
    readonly secondMoment: readonly NamedTensor[];
  } | null;
}

/** What the engine trains with; our own recipes use those of `LossFunction`. */
export type EngineLoss = LossFunction | 'gspo' | 'stable_reinforce';

export interface LossSpec {
  readonly name: EngineLoss;
  readonly config: Readonly<Record<string, number>>;
}

/** A model with gradients and optimizer state. Calls are executed in the order they are made. */
export interface TrainableModel {
  /** Adds to the gradients unless `backward` is false. Throws DomainError `request-failed` (category user) on bad input and changes nothing then. */
  forwardBackward(
    data: readonly Datum[],
    loss: LossSpec,
    options: { readonly backward: boolean },
  ): Promise<ForwardBackwardResult>;
  /**
   * Applies and clears the gradients. Returns metrics such as `grad_norm`. Throws DomainError `request-failed`
   * (category user) where a weight or moment would not be finite afterwards: weights, moments and step count are
   * unchanged then, and the gradients are cleared all the same.
   */
  optimStep(adam: AdamParams): Promise<Readonly<Record<string, number>>>;
  exportState(options: { readonly optimizer: boolean }): Promise<ModelState>;
  /** Without `optimizer` in the state, the optimizer starts fresh. */
  importState(state: ModelState): Promise<void>;
  dispose(): void;
}

/** Frozen weights to draw from. Concurrent calls share decode batches. */
export interface SamplerModel {
  sample(request: SampleRequest, options?: { readonly signal?: AbortSignal }): Promise<SampleResult>;
  dispose(): void;
}

export interface ModelRuntime {
  readonly baseModels: readonly BaseModelInfo[];
  /** `lora` null means full fine-tuning. */
  createModel(options: {
    readonly baseModel: string;
    readonly lora: LoraConfig | null;
  }): Promise<TrainableModel>;
  /** `weights` null means the base model itself. */
  createSampler(options: {
    readonly baseModel: string;
    readonly lora: LoraConfig | null;
    readonly weights: readonly NamedTensor[] | null;
  }): Promise<SamplerModel>;
  close(): Promise<void>;
}
