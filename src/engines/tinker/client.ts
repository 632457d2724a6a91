import type { CheckpointCalls } from './checkpoints';
import { createCheckpointCalls } from './checkpoints';
import type { ConnectionOptions, ProbeOptions } from './connection';
import { createConnection } from './connection';
import type { ModelCalls } from './models';
import { createModelCalls } from './models';
import type { ServerProfile, SupportedModel } from './profile';
import type { SamplerSpec, TinkerSampler } from './sampler';
import { createTinkerSampler } from './sampler';
import type { SamplingCalls } from './sampling';
import { createSamplingCalls } from './sampling';
import type { SessionCalls } from './sessions';
import { createSessionCalls } from './sessions';
import { createSnapshotCalls } from './snapshot-model';
import type { TrainingCalls } from './training';
import { createTrainingCalls } from './training';
import type { CallOptions } from './protocol-call';

export type TinkerClientOptions = ConnectionOptions;

/**
 * One training service, spoken to in the Tinker protocol.
 *
 * Back-pressure, billing pauses and outages are waited out and told to `onWait`, until a call's signal fires
 * or nothing but failures came back for a while (`unreachable`, retryable). A state that the server no longer
 * has is `session-lost`: the caller opens a new session and goes on from a checkpoint.
 */
export interface TinkerClient
  extends SessionCalls, ModelCalls, TrainingCalls, SamplingCalls, CheckpointCalls {
  readonly baseUrl: string;
  capabilities(options?: CallOptions): Promise<readonly SupportedModel[]>;
  /** What the server is like, found out once, with what the options say taking precedence. */
  profile(options?: CallOptions): Promise<ServerProfile>;
  /** Finds out anew, with the limits of one model where it is named. */
  probeProfile(options?: ProbeOptions): Promise<ServerProfile>;
  createSampler(spec: SamplerSpec): TinkerSampler;
  /** Breaks off what is under way and lets go of the connections. */
  close(): Promise<void>;
}

export function createTinkerClient(options: TinkerClientOptions): TinkerClient {
  const connection = createConnection(options);
  const sessions = createSessionCalls(connection);
  const sampling = createSamplingCalls(connection);
  const models = createModelCalls(connection);
  const snapshots = createSnapshotCalls(connection, models);
  return {
    ...sessions,
    ...models,
    ...createTrainingCalls(connection),
    ...sampling,
    ...createCheckpointCalls(connection),
    baseUrl: options.baseUrl,
    capabilities: (callOptions) => connection.capabilities(callOptions),
    profile: (callOptions) => connection.profile(callOptions),
    probeProfile: (callOptions) => connection.probeProfile(callOptions),
    createSampler: (spec) => createTinkerSampler({ ...sessions, ...sampling, ...snapshots }, spec),
    close: () => connection.close(),
  };
}
