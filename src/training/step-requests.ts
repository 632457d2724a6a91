import type { AdamParams, ForwardBackwardResult } from '../core/datum';
import type { ModelIncarnation, StepInFlight } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import type { FutureRef } from '../engines/tinker/futures';
import { mergeChunkResults } from '../engines/tinker/chunks';
import type { PlannedStep } from './step-plan';

/** A step whose requests the service has accepted. */
export interface SubmittedStep {
  readonly planned: PlannedStep;
  readonly requestIds: readonly string[];
}

/** What the service answered for one step. */
export interface StepAnswers {
  readonly forwardBackward: ForwardBackwardResult | null;
  readonly optimizer: Readonly<Record<string, number>>;
  readonly statePath: string | null;
  readonly samplerPath: string | null;
}

export interface StepSender {
  readonly client: TinkerClient;
  readonly model: ModelIncarnation;
  readonly adam: Omit<AdamParams, 'learningRate'>;
  readonly signal: AbortSignal;
}

/**
 * Sends the requests of one step in the order of their seq ids: chunks, optimizer, then the saves, so that no
 * checkpoint can contain a later batch.
 */
export async function submitStep(sender: StepSender, planned: PlannedStep): Promise<SubmittedStep> {
  const { client, model, signal } = sender;
  const { modelId } = model;
  const requestIds: string[] = [];
  let seqId = planned.firstSeqId;
  const send = async (submit: (seqId: number) => Promise<FutureRef>) => {
    const reference = await submit(seqId);
    requestIds.push(reference.requestId);
    seqId += 1;
  };

  for (const data of planned.chunks) {
    await send((id) =>
      client.submitForwardBackward({ modelId, seqId: id, data, lossFn: 'cross_entropy' }, { signal }),
    );
  }
  if (planned.chunks.length > 0) {
    const adam = { ...sender.adam, learningRate: planned.learningRate };
    await send((id) => client.submitOptimStep({ modelId, seqId: id, adam }, { signal }));
  }
  await submitSaves(sender, planned, send);
  return { planned, requestIds };
}

async function submitSaves(
  { client, model, signal }: StepSender,
  { checkpoint, samplerName }: PlannedStep,
  send: (submit: (seqId: number) => Promise<FutureRef>) => Promise<void>,
): Promise<void> {
  const { modelId } = model;
  // A snapshot only evaluations need has no expiry: it is deleted when they are final.
  const life = checkpoint?.ttlSeconds == null ? {} : { ttlSeconds: checkpoint.ttlSeconds };
  if (checkpoint) {
    const { name } = checkpoint;
    await send((seqId) => client.submitSaveWeights({ modelId, seqId, name, ...life }, { signal }));
  }
  if (samplerName !== null) {
    const spec = { modelId, name: samplerName, ...life };
    await send((seqId) => client.submitSaveWeightsForSampler({ ...spec, seqId }, { signal }));
  }
}

/** Takes up a step that an earlier segment sent: its promises can be collected by anyone. */
export function adoptStep(planned: PlannedStep, inFlight: StepInFlight): SubmittedStep {
  return { planned, requestIds: inFlight.requestIds };
}

/** Waits for all answers of a step. */
export async function collectStep(
  sender: StepSender,
  { planned, requestIds }: SubmittedStep,
): Promise<StepAnswers> {
  const { client, signal } = sender;
  const references = requestIds.map((requestId) => ({ requestId, modelId: sender.model.modelId }));
  const chunks = references.splice(0, planned.chunks.length);
  const optimizer = planned.chunks.length > 0 ? references.shift() : undefined;
  const state = planned.checkpoint ? references.shift() : undefined;
  const sampler = planned.samplerName === null ? undefined : references.shift();

  const results = await Promise.all(chunks.map((chunk) => client.collectForwardBackward(chunk, { signal })));
  return {
    forwardBackward: results.length > 0 ? mergeChunkResults(results) : null,
    optimizer: optimizer ? await client.collectOptimStep(optimizer, { signal }) : {},
    statePath: state ? (await client.collectSave(state, { signal })).path : null,
    samplerPath: sampler ? (await client.collectSave(sampler, { signal })).path : null,
  };
}
