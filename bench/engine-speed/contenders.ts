import type { BenchModel } from './bench-model';

export interface TrainingBatch {
  readonly tokens: readonly (readonly number[])[];
  readonly targets: readonly (readonly number[])[];
  /** Of every token in the loss. */
  readonly weight: number;
}

export interface Timing {
  readonly wallMs: number;
  /** Of all threads of the process. */
  readonly cpuMs: number;
}

/** One side of the comparison. Both sides are given the same weights, batches, prompts and optimizer. */
export interface Contender {
  load(model: BenchModel): Promise<void>;
  setBatch(batch: TrainingBatch): Promise<void>;
  loss(): Promise<number>;
  train(steps: number): Promise<Timing>;
  /** Draws `count` tokens, with their log-probabilities, after each prompt. */
  sample(prompts: readonly (readonly number[])[], count: number): Promise<Timing>;
  close(): Promise<void>;
}

export const ADAM = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0.01 };
