/** The one training-service client. */
export type { RemoteCheckpoint } from './checkpoints';
export { mergeChunkResults, planChunks } from './chunks';
export type { TinkerClient, TinkerClientOptions } from './client';
export { createTinkerClient } from './client';
export type { FutureRef } from './futures';
export type { LoraConfig, ModelSpec, RestoreSpec } from './models';
export type { ServerProfile, SupportedModel } from './profile';
export { KNOWN_PROFILES } from './profile';
export type { CallOptions } from './protocol-call';
export type { SamplerSpec, TinkerSampler } from './sampler';
export type { SamplingSource } from './sampling';
export type { ForwardBackwardSpec, OptimStepSpec, SaveSpec } from './training';
export type { OnWait, Waiting } from './waiting';
