/**
 * One training sequence as the training service takes it.
 *
 * Position i of `tokens` predicts `targetTokens[i]`; every tensor has the same length N. With K targets a position the
 * others are N×K, row by row.
 */
export interface Datum {
  readonly tokens: Int32Array;
  readonly targetTokens: Int32Array;
  /** `weights` for cross_entropy; `logprobs` and `advantages` for policy losses. */
  readonly lossInputs: Readonly<Record<string, Float32Array>>;
  /** K; 1 where left out. More than one is for cross_entropy: soft targets, weighted by `weights`. */
  readonly targetsPerPosition?: number;
  readonly provenance?: DatumProvenance;
}

/** Where a datum's tokens were sampled, as runs in order. */
export interface DatumProvenance {
  /** Lengths add up to N. */
  readonly tokens: readonly ProvenanceRun[];
  /** Of `targetTokens`: lengths add up to N. */
  readonly targets: readonly ProvenanceRun[];
}

/** A run of tokens that are `[offset, offset + length)` of a sampled sequence, or of the prompt it was drawn from. */
export interface ProvenanceRun {
  readonly from: 'prompt' | 'sampled';
  readonly sequenceId: string;
  readonly offset: number;
  readonly length: number;
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
  /** Per datum, per target: log p(targetTokens[i]). */
  readonly logprobs: readonly Float32Array[];
  /** `name:reduction` → value, e.g. `loss:sum`. */
  readonly metrics: Readonly<Record<string, number>>;
}
