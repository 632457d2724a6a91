import type { AdamParams, Datum, ForwardBackwardResult, LossFunction } from '../../core/datum';
import { DomainError } from '../../core/errors';
import { largestOf, smallestOf } from '../../core/extremes';
import { stateNameOf } from './checkpoint-path';
import {
  checkDatum,
  decodeForwardBackwardOutput,
  encodeDatumAhead,
  encodeForwardBackwardRequest,
  forwardBackwardOutputFromJson,
  forwardBackwardRequestToJson,
} from './codec';
import type { JsonObject } from './codec/json-values';
import { isObject } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import type { FutureRef } from './futures';
import { collect, collectJson, EITHER_CODEC, isProtobuf, submit } from './futures';
import type { ServerProfile } from './profile';
import type { CallOptions } from './protocol-call';
import { jsonOf } from './protocol-call';

interface ForwardBackwardSpec {
  readonly modelId: string;
  readonly seqId: number;
  readonly data: readonly Datum[];
  readonly lossFn: LossFunction;
  /** E.g. `clip_low_threshold`, by the protocol's names. Clip thresholds left out are the protocol's defaults. */
  readonly lossFnConfig?: Readonly<Record<string, number>>;
  /** Log-probs only, no gradients. */
  readonly forwardOnly?: boolean;
}

interface OptimStepSpec {
  readonly modelId: string;
  readonly seqId: number;
  readonly adam: AdamParams;
}

interface SaveSpec {
  readonly modelId: string;
  readonly seqId: number;
  readonly name: string;
  /** Kept for ever without one; ignored where the server knows no expiry. */
  readonly ttlSeconds?: number;
}

/**
 * Training requests of one model, in the order of their seq ids.
 *
 * A submit returns as soon as the server has promised the result. Its body is a pure function of its
 * arguments, so after a crash the same call may be made again: a server that recognises it answers with
 * the same promise. On one that does not, a submit whose connection broke throws `session-lost`.
 * Collecting may be repeated, and done by another process than the one that submitted.
 */
export interface TrainingCalls {
  submitForwardBackward(spec: ForwardBackwardSpec, options?: CallOptions): Promise<FutureRef>;
  /** Does now, as far as the codec allows, what sending these would cost then. For what is sent soon, and once. */
  encodeAhead(data: readonly Datum[], options?: CallOptions): Promise<void>;
  submitOptimStep(spec: OptimStepSpec, options?: CallOptions): Promise<FutureRef>;
  submitSaveWeights(spec: SaveSpec, options?: CallOptions): Promise<FutureRef>;
  submitSaveWeightsForSampler(spec: SaveSpec, options?: CallOptions): Promise<FutureRef>;
  collectForwardBackward(ref: FutureRef, options?: CallOptions): Promise<ForwardBackwardResult>;
  /** The optimizer's metrics. */
  collectOptimStep(ref: FutureRef, options?: CallOptions): Promise<Record<string, number>>;
  collectSave(ref: FutureRef, options?: CallOptions): Promise<{ readonly path: string }>;
}

/** Servers differ in what they take when these are left out, so they are always sent. */
const LOSS_DEFAULTS: Partial<Record<LossFunction, Readonly<Record<string, number>>>> = {
  ppo: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
  cispo: { clip_low_threshold: 0, clip_high_threshold: 4 },
};

/** Sums of float32 weights differ in their last digits. */
const LARGEST_WEIGHT_DIFFERENCE = 1e-3;

const POLICY_INPUTS = ['logprobs', 'advantages'];

export function createTrainingCalls(connection: Connection): TrainingCalls {
  async function submitSave(kind: SaveKind, spec: SaveSpec, { signal }: CallOptions): Promise<FutureRef> {
    const profile = await connection.profile({ signal });
    if (kind === 'save_weights_for_sampler' && !profile.detachesSnapshots)
      await submitSave('save_weights', { ...spec, name: stateNameOf(spec.name) }, { signal });
    const body: JsonObject = {
      model_id: spec.modelId,
      path: spec.name,
      seq_id: spec.seqId,
      ...(profile.supportsTtl && spec.ttlSeconds !== undefined && { ttl_seconds: spec.ttlSeconds }),
      type: kind,
    };
    const subject = subjectOf(kind, spec);
    return submit(connection, { route: kind, subject, body, isResendable: profile.deduplicates, signal });
  }

  return {
    async submitForwardBackward(spec, { signal } = {}) {
      const profile = await connection.profile({ signal });
      checkSpec(spec, profile);
      return submit(connection, {
        ...bodyOf(spec, profile),
        subject: subjectOf('forward_backward', spec),
        isResendable: profile.deduplicates,
        signal,
      });
    },

    async encodeAhead(data, { signal } = {}) {
      const { codec } = await connection.profile({ signal });
      if (codec === 'protobuf') data.forEach(encodeDatumAhead);
    },

    async submitOptimStep(spec, { signal } = {}) {
      const { deduplicates, lacks } = await connection.profile({ signal });
      if (spec.adam.gradClipNorm > 0 && lacks.includes('gradient-clipping'))
        throw refused('this service does not clip gradients; leave adam.gradClipNorm out');
      return submit(connection, {
        route: 'optim_step',
        subject: subjectOf('optim_step', spec),
        body: {
          adam_params: adamToJson(spec.adam),
          model_id: spec.modelId,
          seq_id: spec.seqId,
          type: 'optim_step',
        },
        isResendable: deduplicates,
        signal,
      });
    },

    submitSaveWeights: (spec, options = {}) => submitSave('save_weights', spec, options),
    submitSaveWeightsForSampler: (spec, options = {}) =>
      submitSave('save_weights_for_sampler', spec, options),

    ...createCollectCalls(connection),
  };
}

function createCollectCalls(
  connection: Connection,
): Pick<TrainingCalls, 'collectForwardBackward' | 'collectOptimStep' | 'collectSave'> {
  return {
    async collectForwardBackward(ref, { signal } = {}) {
      const { codec } = await connection.profile({ signal });
      const subject = promiseOf('forward_backward', ref);
      const accept = codec === 'protobuf' ? EITHER_CODEC : 'application/json';
      const reply = await collect(connection, ref, { type: 'ForwardBackward', subject, accept, signal });
      return isProtobuf(reply)
        ? decodeForwardBackwardOutput(reply.body)
        : forwardBackwardOutputFromJson(jsonOf(reply, subject));
    },

    async collectOptimStep(ref, { signal } = {}) {
      const subject = promiseOf('optim_step', ref);
      const result = await collectJson(connection, ref, { type: 'OptimStep', subject, signal });
      return numericEntries(result['metrics']);
    },

    async collectSave(ref, { signal } = {}) {
      const subject = promiseOf('save_weights', ref);
      const { path } = await collectJson(connection, ref, { type: 'SaveWeights', subject, signal });
      if (typeof path === 'string') return { path };
      throw new DomainError('protocol-error', `The result of ${subject.what} has no path.`);
    },
  };
}

type SaveKind = 'save_weights' | 'save_weights_for_sampler';

/** Refuses what some server would quietly train on in another way. */
function checkSpec(
  { data, lossFn, modelId }: ForwardBackwardSpec,
  { maxSequenceLength, lossReduction }: ServerProfile,
): void {
  if (data.length === 0) throw refused('the batch is empty');
  if (lossReduction === 'mean' && lossFn === 'cross_entropy') checkWeighsTheSame(data);
  const required = lossFn === 'cross_entropy' ? [] : POLICY_INPUTS;
  data.forEach((datum, index) => {
    checkDatum(datum, index);
    const absent = required.find((name) => !Object.hasOwn(datum.lossInputs, name));
    if (absent !== undefined) throw refused(`datum ${index} has no ${absent}, which ${lossFn} needs`);
    if (maxSequenceLength !== null && datum.tokens.length > maxSequenceLength) {
      throw refused(
        `datum ${index} has ${datum.tokens.length} tokens and the model of ${modelId} takes at most ${maxSequenceLength}; lower maxLength`,
      );
    }
  });
}

/** A service that divides by a sequence's weight makes all sequences weigh the same, whatever was asked for. */
function checkWeighsTheSame(data: readonly Datum[]): void {
  const sums = data.map(({ lossInputs, targetTokens }) => {
    const { weights } = lossInputs;
    return weights ? weights.reduce((sum, weight) => sum + weight, 0) : targetTokens.length;
  });
  const weighed = sums.filter((sum) => sum !== 0);
  const [least, most] = [smallestOf(weighed), largestOf(weighed)];
  if (weighed.length === 0 || most - least <= LARGEST_WEIGHT_DIFFERENCE * Math.abs(most)) return;
  throw refused(
    `this service averages each sequence on its own, and these weigh between ${least} and ${most}; use lossReduction: mean`,
  );
}

function refused(message: string): DomainError {
  return new DomainError('request-failed', `Training data refused: ${message}.`, { category: 'user' });
}

function bodyOf(
  spec: ForwardBackwardSpec,
  { codec }: ServerProfile,
): { readonly route: string; readonly body: JsonObject | Uint8Array } {
  const request = {
    modelId: spec.modelId,
    seqId: spec.seqId,
    data: spec.data,
    lossFn: spec.lossFn,
    lossFnConfig: { ...LOSS_DEFAULTS[spec.lossFn], ...spec.lossFnConfig },
    forwardOnly: spec.forwardOnly ?? false,
  };
  if (codec === 'protobuf') return { route: 'forward_backward', body: encodeForwardBackwardRequest(request) };
  return {
    route: request.forwardOnly ? 'forward' : 'forward_backward',
    body: forwardBackwardRequestToJson(request),
  };
}

function adamToJson(adam: AdamParams): JsonObject {
  return {
    learning_rate: adam.learningRate,
    beta1: adam.beta1,
    beta2: adam.beta2,
    eps: adam.eps,
    weight_decay: adam.weightDecay,
    grad_clip_norm: adam.gradClipNorm,
  };
}

function subjectOf(
  call: string,
  { modelId, seqId }: { readonly modelId: string; readonly seqId: number },
): Subject {
  return { what: `${call} (request ${seqId} of model ${modelId})`, missing: 'session-lost' };
}

function promiseOf(call: string, { requestId }: FutureRef): Subject {
  return { what: `${call} (promise ${requestId})`, missing: 'session-lost' };
}

/** The optimizer's metrics are free in form; only numbers are kept. */
function numericEntries(metrics: unknown): Record<string, number> {
  const entries = isObject(metrics) ? Object.entries(metrics) : [];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (typeof value === 'number' ? [[name, value]] : [])),
  );
}
