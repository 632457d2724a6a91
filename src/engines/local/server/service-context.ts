import type pino from 'pino';
import type { ModelRuntime } from '../model-runtime';
import type { CheckpointStore } from './checkpoints/checkpoint-store';
import type { EngineCounters } from './engine-counters';
import type { FutureStore } from './future-store';
import type { SessionRegistry } from './session-registry';

/** How this server behaves where servers of the protocol differ; the defaults are what a durable client wants. */
export interface EngineProfile {
  /** A resent request is answered with the promise of the first one. */
  readonly deduplicate: boolean;
  /** Requests of a model run by sequence number, else as they arrive. */
  readonly ordered: boolean;
}

/** What the parts of the server share. */
export interface ServiceContext {
  readonly runtime: ModelRuntime;
  readonly logger: pino.Logger;
  readonly profile: EngineProfile;
  readonly futures: FutureStore;
  readonly counters: EngineCounters;
  readonly checkpoints: CheckpointStore;
  readonly sessions: SessionRegistry;
}
