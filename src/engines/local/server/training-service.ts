import type { Steps } from '../../../core/concurrency/steps';
import type { ForwardBackwardResult } from '../../../core/datum';
import { bytesOf } from '../../../core/datum-size';
import type { ForwardBackwardRequest } from '../../tinker/codec';
import {
  checkDatum,
  encodeForwardBackwardOutput,
  forwardBackwardOutputText,
  forwardBackwardOutputToJson,
} from '../../tinker/codec';
import type { EngineLoss } from '../model-runtime';
import type { OptimStepBody } from './bodies';
import { digestOf, digestOfData } from './body-digest';
import type { Delay, FutureResult } from './future-store';
import { jsonResult } from './future-store';
import type { Accepted, ModelRegistry } from './model-registry';
import { ProtocolError } from './protocol-error';
import type { ServiceContext } from './service-context';
import type { TrainingModel } from './training-model';

/** What each loss may be told; an unknown key would silently do nothing. */
const LOSS_CONFIG_KEYS: Readonly<Record<EngineLoss, readonly string[]>> = {
  cross_entropy: [],
  importance_sampling: [],
  ppo: ['clip_low_threshold', 'clip_high_threshold'],
  cispo: ['clip_low_threshold', 'clip_high_threshold'],
  dro: ['beta'],
  gspo: ['clip_low_threshold', 'clip_high_threshold'],
  stable_reinforce: ['kl_coeff'],
};

/** A request to one model: done in the order of its number, once however often it is sent. */
export interface Command<Value> {
  readonly modelId: string;
  /** null where the sender gave none: it comes after all others. */
  readonly sequence: number | null;
  readonly digest: string;
  /** Held in memory until it is done. */
  readonly bytes?: number;
  /** Last chance to refuse, for a request that is not a resend. */
  readonly admit?: (model: TrainingModel, sequence: number) => void;
  readonly execute: (model: TrainingModel, sequence: number) => Promise<Value>;
  /** Why it takes longer than it should. */
  readonly delay?: () => Delay | null;
  /** What may go on while the model already does the next thing. */
  readonly complete: (
    value: Value,
    model: TrainingModel,
    sequence: number,
  ) => Promise<FutureResult> | FutureResult;
}

export interface NumberedForwardBackward extends ForwardBackwardRequest {
  readonly sequence: number | null;
}

export class TrainingService {
  private repeatCount = 0;

  constructor(
    private readonly context: ServiceContext,
    private readonly models: ModelRegistry,
  ) {}

  /** A request that was refused at the door must not hold back the ones after it. */
  refuse(modelId: string, sequence: number): void {
    this.models.find(modelId)?.queue.refuse(sequence);
  }

  *forwardBackward({ sequence, ...request }: NumberedForwardBackward): Steps<Accepted> {
    const loss = { name: knownLoss(request), config: request.lossFnConfig };
    if (request.data.length === 0) throw new ProtocolError(422, 'Invalid request: data is empty.');
    const { counters } = this.context;
    const isBackward = !request.forwardOnly;
    const widths = request.data.map(({ targetsPerPosition = 1 }) => targetsPerPosition);
    const data = yield* digestOfData(request.data);
    return this.submit({
      modelId: request.modelId,
      sequence,
      digest: digestOf({ kind: 'forward_backward', request: { ...request, data } }),
      bytes: request.data.reduce((sum, datum) => sum + bytesOf(datum), 0),
      execute: async (model) => {
        request.data.forEach(checkDatum);
        const data =
          loss.name === 'stable_reinforce'
            ? this.context.sequences.withSampledTargets(request.data, model.origin.sessionId)
            : request.data;
        const result = await counters.whileBusy('training', () =>
          model.weights().forwardBackward(data, loss, { backward: isBackward }),
        );
        if (isBackward)
          counters.tokensTrained += request.data.reduce((sum, { tokens }) => sum + tokens.length, 0);
        return result;
      },
      complete: (result) => forwardBackwardFuture(result, widths),
    });
  }

  optimStep(body: OptimStepBody): Accepted {
    const { counters, appliedSteps } = this.context;
    return this.submit({
      modelId: body.model_id,
      sequence: body.seq_id,
      digest: digestOf({ kind: 'optim_step', body }),
      execute: async (model) => {
        const metrics = await counters.whileBusy('training', () =>
          model.weights().optimStep(body.adam_params),
        );
        counters.stepsApplied++;
        appliedSteps.add(model.id);
        return metrics;
      },
      complete: (metrics) => jsonResult({ metrics, type: 'optim_step' }),
    });
  }

  submit<Value>(command: Command<Value>): Accepted {
    const model = this.models.require(command.modelId);
    const sequence = command.sequence ?? model.queue.following();
    const { deduplicate } = this.context.profile;
    const accepted = { request_id: `${model.id}:request:${sequence}`, model_id: model.id };
    if (deduplicate) {
      if (model.accepted.isResend(sequence, command.digest)) return accepted;
      refusePassed(model, sequence);
    }
    const { bytes = 0 } = command;
    model.pending.requireRoom(model.queue, sequence, bytes);
    command.admit?.(model, sequence);
    model.accepted.add(sequence, command.digest, (number) => model.queue.hasPassed(number));
    const isRepeat = this.context.futures.has(accepted.request_id);
    const requestId = isRepeat ? `${accepted.request_id}:${++this.repeatCount}` : accepted.request_id;
    const work = model.queue
      .submit(sequence, () => command.execute(model, sequence))
      .then((value) => command.complete(value, model, sequence));
    model.pending.hold(bytes, work);
    const { delay = noDelay } = command;
    this.context.futures.add(requestId, work, {
      owner: model.id,
      waitsFor: reasonToWait(model, sequence, delay),
    });
    return { ...accepted, request_id: requestId };
  }
}

/** On its own, so that a kept result does not keep the training data it came from. */
function forwardBackwardFuture(result: ForwardBackwardResult, widths: readonly number[]): FutureResult {
  return {
    bytes: result.logprobs.reduce((sum, { byteLength }) => sum + byteLength, 0),
    json: () => forwardBackwardOutputToJson(result, widths),
    text: () => forwardBackwardOutputText(result, widths),
    protobuf: () => encodeForwardBackwardOutput(result, widths),
  };
}

/** On its own for the same reason: it is kept as long as the result. */
function reasonToWait(model: TrainingModel, sequence: number, delay: () => Delay | null): () => Delay | null {
  return () => {
    const missing = model.queue.missingBefore(sequence);
    if (missing === null) return delay();
    return { queueState: 'active', reason: `seq_id ${missing} of ${model.id} has not arrived yet` };
  };
}

const noDelay = () => null;

function refusePassed(model: TrainingModel, sequence: number): void {
  if (!model.queue.hasPassed(sequence)) return;
  throw new ProtocolError(
    400,
    `seq_id ${sequence} was passed over because it was refused and later requests came. Use the next number.`,
  );
}

function knownLoss(request: ForwardBackwardRequest): EngineLoss {
  const entry = Object.entries(LOSS_CONFIG_KEYS).find(([name]) => name === request.lossFn);
  if (!entry || !isLoss(request.lossFn)) {
    throw new ProtocolError(
      422,
      `Unknown loss_fn "${request.lossFn}". Known: ${Object.keys(LOSS_CONFIG_KEYS).join(', ')}.`,
    );
  }
  const unknown = Object.keys(request.lossFnConfig).filter((key) => !entry[1].includes(key));
  if (unknown.length > 0) {
    throw new ProtocolError(
      422,
      `Unknown loss_fn_config key "${unknown.join('", "')}" for ${request.lossFn}. Known: ${entry[1].join(', ') || 'none'}.`,
    );
  }
  return request.lossFn;
}

function isLoss(name: string): name is EngineLoss {
  return Object.hasOwn(LOSS_CONFIG_KEYS, name);
}
