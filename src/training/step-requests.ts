import type { AdamParams, Datum, ForwardBackwardResult } from '../core/datum';
import type { ModelIncarnation, StepInFlight } from '../core/training-plan';
import { meanByKey } from '../core/reinforcement/rollout-metrics';
import type { TinkerClient } from '../engines/tinker/client';
import type { FutureRef } from '../engines/tinker/futures';
import { mergeChunkResults } from '../engines/tinker/chunks';
import type { PlannedStep, PlannedUpdate } from './step-plan';

/** A step whose requests the service has accepted. */
export interface SubmittedStep {
  readonly planned: PlannedStep;
  readonly requestIds: readonly string[];
}

/** What the service answered for one step. */
export interface StepAnswers {
  readonly forwardBackward: ForwardBackwardResult | null;
  /** Under the weights after the updates, where the batch asked for it. */
  readonly remeasured: ForwardBackwardResult | null;
  /** Means over the step's updates. */
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
 * checkpoint can contain a later batch. `early` are the step's first requests, sent before.
 */
export async function submitStep(
  sender: StepSender,
  planned: PlannedStep,
  early: readonly string[] = [],
): Promise<SubmittedStep> {
  const { client, model, signal } = sender;
  const { modelId } = model;
  const requestIds: string[] = [];
  const send = async (submit: (seqId: number) => Promise<FutureRef>) => {
    const index = requestIds.length;
    requestIds.push(early[index] ?? (await submit(planned.firstSeqId + index)).requestId);
  };

  const { learningRate } = planned;
  for (const { chunks, derived, ...loss } of planned.updates) {
    const measures: string[] = [];
    for (const data of derived ? chunks : []) {
      await send((seqId) => client.submitForwardBackward({ modelId, seqId, data, ...MEASURE }, { signal }));
      measures.push(...requestIds.slice(-1));
    }
    const sent = derived ? await weighted(sender, { chunks, derived, measures }) : chunks;
    for (const data of sent) {
      await send((id) => client.submitForwardBackward({ modelId, seqId: id, data, ...loss }, { signal }));
    }
    await send((seqId) => submitOptimizerStep(sender, { seqId, learningRate }));
  }
  for (const data of planned.remeasured) {
    await send((seqId) => client.submitForwardBackward({ modelId, seqId, data, ...MEASURE }, { signal }));
  }
  await submitSaves(sender, planned, send);
  return { planned, requestIds };
}

/** Log-probabilities only. */
const MEASURE = { lossFn: 'cross_entropy', forwardOnly: true } as const;

interface OptimizerStep {
  readonly seqId: number;
  readonly learningRate: number;
}

/** Returns the id of the request. */
export async function sendOptimizerStep(sender: StepSender, step: OptimizerStep): Promise<string> {
  return (await submitOptimizerStep(sender, step)).requestId;
}

function submitOptimizerStep(
  { client, model, adam, signal }: StepSender,
  { seqId, learningRate }: OptimizerStep,
): Promise<FutureRef> {
  return client.submitOptimStep(
    { modelId: model.modelId, seqId, adam: { ...adam, learningRate } },
    { signal },
  );
}

async function submitSaves(
  { client, model, signal }: StepSender,
  { checkpoint, samplerName, samplerLife }: PlannedStep,
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
    const ownLife = samplerLife === null || checkpoint ? life : { ttlSeconds: samplerLife };
    const spec = { modelId, name: samplerName, ...ownLife };
    await send((seqId) => client.submitSaveWeightsForSampler({ ...spec, seqId }, { signal }));
  }
}

interface MeasuredUpdate extends Required<Pick<PlannedUpdate, 'chunks' | 'derived'>> {
  /** Requests that measure the chunks, in their order. */
  readonly measures: readonly string[];
}

/** The chunks with the weights that their log-probabilities give: the same whenever the same promises are asked. */
async function weighted(
  { client, signal }: StepSender,
  { chunks, derived, measures }: MeasuredUpdate,
): Promise<Datum[][]> {
  const results = await Promise.all(
    measures.map((requestId) => client.collectForwardBackward({ requestId }, { signal })),
  );
  const { weights } = derived(results.flatMap(({ logprobs }) => logprobs));
  let next = 0;
  return chunks.map((chunk) =>
    chunk.map((datum) => ({ ...datum, lossInputs: { weights: weights[next++] ?? new Float32Array() } })),
  );
}

/** The service says what its own loss came to, which of a loss that is computed here is not the one meant. */
function withOwnLoss({ updates }: PlannedStep) {
  return (results: readonly ForwardBackwardResult[], index: number): ForwardBackwardResult[] => {
    const derived = updates[index]?.derived;
    if (!derived) return [...results];
    const { logprobs } = mergeChunkResults(results);
    return [{ logprobs, metrics: { 'loss:sum': derived(logprobs).loss } }];
  };
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
  const updates = planned.updates.map(({ chunks, derived }) => ({
    measures: references.splice(0, derived ? chunks.length : 0),
    chunks: references.splice(0, chunks.length),
    optimizer: references.splice(0, 1),
  }));
  const measures = references.splice(0, planned.remeasured.length);
  const state = planned.checkpoint ? references.shift() : undefined;
  const sampler = planned.samplerName === null ? undefined : references.shift();

  const results = await Promise.all(
    updates.map(({ chunks }) =>
      Promise.all(chunks.map((chunk) => client.collectForwardBackward(chunk, { signal }))),
    ),
  );
  // Asked for at once: whoever waits for the weights does not wait for one answer after the other.
  const [optimizers, measured, statePath, samplerPath] = await Promise.all([
    Promise.all(
      updates.flatMap(({ optimizer }) => optimizer.map((ref) => client.collectOptimStep(ref, { signal }))),
    ),
    Promise.all(measures.map((ref) => client.collectForwardBackward(ref, { signal }))),
    savedPath(sender, state),
    savedPath(sender, sampler),
  ]);
  return {
    forwardBackward: results.length > 0 ? mergeChunkResults(results.flatMap(withOwnLoss(planned))) : null,
    remeasured: measured.length > 0 ? mergeChunkResults(measured) : null,
    optimizer: Object.fromEntries(meanByKey(optimizers)),
    statePath,
    samplerPath,
  };
}

async function savedPath(
  { client, signal }: StepSender,
  save: FutureRef | undefined,
): Promise<string | null> {
  return save ? (await client.collectSave(save, { signal })).path : null;
}
