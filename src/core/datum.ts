/**
 * One training sequence as the training service takes it.
 *
 * Position i of `tokens` predicts `targetTokens[i]`; every tensor has the same length N.
 */
export interface Datum {
  readonly tokens: Int32Array;
  readonly targetTokens: Int32Array;
  /** `weights` for cross_entropy; `logprobs` and `advantages` for policy losses. */
  readonly lossInputs: Readonly<Record<string, Float32Array>>;
}

export type LossFunction = 'cross_entropy' | 'importance_sampling' | 'ppo' | 'cispo' | 'dro';

export interface AdamParams {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  /** Decoupled (AdamW). */
  readonly weightDecay: number;
  /** Global norm; 0 switches clipping off. */
  readonly gradClipNorm: number;
}

export interface ForwardBackwardResult {
  /** Per datum, per position: log p(targetTokens[i]). */
  readonly logprobs: readonly Float32Array[];
  /** `name:reduction` → value, e.g. `loss:sum`. */
  readonly metrics: Readonly<Record<string, number>>;
}
