import type { Datum, LossFunction } from '../core/datum';

/** What one optimizer update of a step is computed from. */
export interface BatchUpdate {
  /** Sent one after the other; a part is never cut together with another. */
  readonly parts: readonly (readonly Datum[])[];
  readonly lossFn: LossFunction;
  /** By the names of the protocol; absent where the loss has no settings. */
  readonly lossFnConfig?: Readonly<Record<string, number>>;
  /** Computed here and not by the service, which gets its slopes. */
  readonly derived?: DerivedLoss;
}

/**
 * A loss from the log-probabilities of the update's datums, in their order. `weights` are minus its slopes: as weights of
 * cross_entropy they give its gradient.
 */
export type DerivedLoss = (logprobs: readonly Float32Array[]) => {
  readonly loss: number;
  readonly weights: readonly Float32Array[];
};

/** What is trained in one step, and what is said of it. */
export interface StepBatch {
  readonly updates: readonly BatchUpdate[];
  /** Tokens the model reads. */
  readonly tokenCount: number;
  /** Passes over the data completed before the step. */
  readonly epoch: number;
  /** Asked for once more after the updates, under the weights that they left. */
  readonly remeasured?: readonly Datum[];
  /**
   * The batch's own part of the step's metrics: `logprobs[i]` belongs to datum i of all updates, `newLogprobs[i]` to datum
   * i of `remeasured`.
   */
  metrics(
    logprobs: readonly Float32Array[],
    newLogprobs: readonly Float32Array[],
  ): Readonly<Record<string, number | null>>;
  /** Something to look at, written when the step is collected. */
  report?(): Promise<void>;
  /** For `timing.jsonl`. */
  timing?(): Readonly<Record<string, number | string>>;
  /** Works out what does not depend on the service's answers, while the service works on them. */
  prepare?(): void;
}

/** The batches of a run: a function of the step, whoever asks and whenever. */
export interface BatchSource {
  /** Steps are counted from 1. */
  batch(step: number): Promise<StepBatch>;
  /**
   * Whether the batch can be had; absent where all are there from the start. `early` hears of what will be trained as it is
   * in the batch, each once.
   */
  isReady?(step: number, early?: (data: readonly Datum[]) => void): Promise<boolean>;
  /** The parts of `batch`, in its order, each as soon as it can be had. */
  parts?(step: number, signal: AbortSignal): AsyncGenerator<BatchPart>;
}

export interface BatchPart extends Omit<BatchUpdate, 'parts' | 'derived'> {
  readonly data: readonly Datum[];
  /** The optimizer's update follows. */
  readonly endsUpdate: boolean;
}
