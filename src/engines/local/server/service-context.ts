import type pino from 'pino';
import type { ModelRuntime } from '../model-runtime';
import type { AppliedSteps } from './applied-steps';
import type { CheckpointStore } from './checkpoints/checkpoint-store';
import type { EngineCounters } from './engine-counters';
import type { FutureStore } from './future-store';
import type { SequenceRecords } from './sequence-records';
import type { MetadataBudget } from './metadata-budget';
import type { SessionRegistry } from './session-registry';

/** How this server behaves where servers of the protocol differ; the defaults are what a durable client wants. */
export interface EngineProfile {
  /** A resent request is answered with the promise of the first one. */
  readonly deduplicate: boolean;
  /** Requests of a model run by sequence number, else as they arrive. */
  readonly ordered: boolean;
  /** What it says of itself: that equal requests give bit-equal weights. */
  readonly deterministic: boolean;
  /** Models in memory at a time; another one is refused. null means as many as fit. */
  readonly maxModels: number | null;
}

/** What the parts of the server share. */
export interface ServiceContext {
  readonly runtime: ModelRuntime;
  readonly logger: pino.Logger;
  readonly profile: EngineProfile;
  readonly futures: FutureStore;
  readonly counters: EngineCounters;
  readonly appliedSteps: AppliedSteps;
  readonly checkpoints: CheckpointStore;
  readonly sessions: SessionRegistry;
  /** Of sampled sequences that training may name. */
  readonly sequences: SequenceRecords;
  /** Of what is said of open sessions and models. */
  readonly metadata: MetadataBudget;
  /** By which checkpoints end. */
  readonly now: () => number;
  /** By which sessions end: milliseconds of a clock that nobody sets. */
  readonly elapsed: () => number;
}
