import type { OptimizationPlan } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import type { PolicyNote } from './policy-note';
import type { BatchSource } from './step-batch';
import type { StepJournals } from './step-journals';
import type { StoreNews } from './store-news';

export interface SegmentDependencies {
  readonly client: TinkerClient;
  readonly batches: BatchSource;
  readonly optimization: OptimizationPlan;
  readonly journals: StepJournals;
  /** Tells samplers that wait for weights that they are there; absent where nobody waits. */
  readonly passPolicy?: (note: PolicyNote) => Promise<void>;
  /** Of rollouts that this process samples. */
  readonly news: StoreNews;
  /** Milliseconds of a clock that only measures durations. */
  readonly now: () => number;
}

export interface SegmentOptions {
  /** From 1; a later attempt may not resend to a service that would compute twice. */
  readonly attempt: number;
  /** Fires when the segment shall hand over what it has in flight, at once. */
  readonly signal: AbortSignal;
  /** Why the segment cannot go on just now, or null; a service without room is waited for by the run, not here. */
  readonly waiting: PatientSignal;
  readonly onProgress: (step: number) => void;
}

/** Aborts `signal` when the service keeps us waiting for longer than a segment should; says why. */
export interface PatientSignal {
  readonly signal: AbortSignal;
  reason(): string | null;
}
