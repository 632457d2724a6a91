import { DomainError } from '../../core/errors';
import type { SampledSequence, SampleRequest, SampleResult } from '../../core/sampling';
import { asampleRequestToJson, decodeSampleResponse, sampleResponseFromJson } from './codec';
import { stringFrom } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import type { FutureRef } from './futures';
import { collect, EITHER_CODEC, isProtobuf, submit } from './futures';
import type { CallOptions, ProtocolCall } from './protocol-call';
import { jsonOf } from './protocol-call';
import { firesLater } from './shared-work';

/** Weights to sample from: saved ones, or a base model's. */
export type SamplingSource =
  | { readonly modelPath: string; readonly baseModel?: undefined }
  | { readonly baseModel: string; readonly modelPath?: undefined };

type SamplingSessionSpec = SamplingSource & {
  readonly sessionId: string;
  readonly samplingSessionSeqId: number;
};

interface SampleSpec {
  readonly samplingSessionId: string;
  /** The same again means the same request; left out, this client counts for the sampling session. */
  readonly seqId?: number;
  readonly request: SampleRequest;
  /** Nobody will ask for the result again: a signal that fires ends the drawing too, where the service can. */
  readonly isCancelledWithSignal?: boolean;
}

export interface SamplingCalls {
  createSamplingSession(spec: SamplingSessionSpec, options?: CallOptions): Promise<string>;
  /**
   * Draws completions. A promise that the server lost is asked for again; `session-lost` means that the
   * sampling session is gone, `request-failed` that the server gave up, retryable unless the request is at fault.
   */
  sample(spec: SampleSpec, options?: CallOptions): Promise<SampleResult>;
}

const LOST_PROMISE_RETRIES = 3;
const CANCEL_MS = 2000;

export function createSamplingCalls(connection: Connection): SamplingCalls {
  const lastSeqIds = new Map<string, number>();

  function nextSeqId(samplingSessionId: string): number {
    const seqId = (lastSeqIds.get(samplingSessionId) ?? 0) + 1;
    lastSeqIds.set(samplingSessionId, seqId);
    return seqId;
  }

  return {
    async createSamplingSession(spec, { signal } = {}) {
      const source = spec.modelPath ?? spec.baseModel;
      const subject: Subject = { what: `create_sampling_session ${source}`, missing: 'session-lost' };
      const answer = await connection.request({
        route: 'create_sampling_session',
        subject,
        body: {
          session_id: spec.sessionId,
          sampling_session_seq_id: spec.samplingSessionSeqId,
          ...(spec.modelPath !== undefined ? { model_path: spec.modelPath } : { base_model: spec.baseModel }),
          type: 'create_sampling_session',
        },
        signal,
      });
      return stringFrom(answer['sampling_session_id'], 'sampling_session_id');
    },

    async sample(spec, options = {}) {
      let seqId = spec.seqId ?? nextSeqId(spec.samplingSessionId);
      for (let attemptCount = 0; attemptCount < LOST_PROMISE_RETRIES; attemptCount++) {
        // A service that recognises the request may answer with the promise it has lost.
        if (attemptCount > 1) seqId = nextSeqId(spec.samplingSessionId);
        const result = await sampleOnce(connection, { ...spec, seqId }, options);
        if (result) return checkResult(spec.request, result);
      }
      throw new DomainError(
        'session-lost',
        `The training service lost ${LOST_PROMISE_RETRIES} promises of samples in ${spec.samplingSessionId}. Open a new sampling session.`,
      );
    },
  };
}

/** null where the server lost the promise. */
async function sampleOnce(
  connection: Connection,
  { isCancelledWithSignal = false, ...spec }: SampleSpec & Required<Pick<SampleSpec, 'seqId'>>,
  { signal }: CallOptions,
): Promise<SampleResult | null> {
  const subject: Subject = { what: `sampling in ${spec.samplingSessionId}`, missing: 'session-lost' };
  const call = {
    route: 'asample',
    subject,
    body: asampleRequestToJson({ ...spec, modelPath: null, baseModel: null }),
    headers: { 'x-tinker-sampling-backpressure': '1' },
    signal,
  };
  const ref = await (isCancelledWithSignal ? submitToCancel(connection, call) : submit(connection, call));
  try {
    const { codec } = await connection.profile({ signal });
    const accept = codec === 'protobuf' ? EITHER_CODEC : 'application/json';
    const mostBytes = mostResultBytes(spec.request);
    const reply = await collect(connection, ref, { type: 'Sample', subject, accept, mostBytes, signal });
    return isProtobuf(reply)
      ? decodeSampleResponse(reply.body)
      : sampleResponseFromJson(jsonOf(reply, subject));
  } catch (error) {
    if (isCancelledWithSignal) await cancelAborted(connection, ref, signal);
    if (error instanceof DomainError && error.code === 'session-lost') return null;
    throw error instanceof DomainError ? retryableUnlessAtFault(error) : error;
  }
}

/** What is under way when the signal fires has its answer waited for, which says what to cancel. */
async function submitToCancel(connection: Connection, call: ProtocolCall): Promise<FutureRef> {
  const { signal } = call;
  if (!signal) return submit(connection, call);
  signal.throwIfAborted();
  const later = firesLater(signal, CANCEL_MS);
  try {
    return await submit(connection, { ...call, signal: later.signal });
  } finally {
    later.release();
  }
}

/** A service that cannot be told goes on drawing for nobody, which harms nobody but itself. */
async function cancelAborted(
  connection: Connection,
  { requestId }: FutureRef,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!signal?.aborted) return;
  const { server } = await connection.profile();
  if (server !== 'everstep') return;
  const subject: Subject = { what: `cancelling ${requestId}`, missing: 'session-lost' };
  const call = { route: 'cancel_future', subject, body: { request_id: requestId }, isResendable: false };
  await connection.send({ ...call, signal: AbortSignal.timeout(CANCEL_MS) }).catch(() => undefined);
}

/** Asking again may help where the server failed, and cannot where the request is wrong. */
function retryableUnlessAtFault(error: DomainError): DomainError {
  if (error.code !== 'request-failed' || error.category === 'user') return error;
  return new DomainError(error.code, error.message, {
    retryable: true,
    cause: error,
    ...(error.category && { category: error.category }),
  });
}

const ALWAYS_BYTES = 2 ** 20;
/** A token's id and log-probability in JSON, at their longest, with what stands around them. */
const CELL_BYTES = 64;

/** Many are under way at once, and each may be sent without end. */
function mostResultBytes(request: SampleRequest): number {
  const { prompt, numSamples, params, topPromptLogprobs = 0, topSampledLogprobs = 0 } = request;
  const targets = request.promptTargets?.values.length ?? 0;
  const ofPrompt = prompt.length * (1 + topPromptLogprobs + (request.promptAlternatives ?? 0)) + targets;
  const ofSamples = numSamples * params.maxTokens * (1 + topSampledLogprobs);
  return ALWAYS_BYTES + CELL_BYTES * (ofPrompt + ofSamples);
}

/** Of a log-probability that was computed with few digits. */
const ROUNDING = 0.01;

function checkResult(request: SampleRequest, result: SampleResult): SampleResult {
  if (result.sequences.length !== request.numSamples) {
    throw protocolError(`${result.sequences.length} samples where ${request.numSamples} were asked for`);
  }
  for (const sequence of result.sequences) checkSequence(request, sequence);
  return { ...result, promptLogprobs: promptLogprobsOf(request, result) };
}

/** A stop token may come on top of what was asked for. */
function checkSequence(
  { params: { maxTokens } }: SampleRequest,
  { tokens, logprobs }: SampledSequence,
): void {
  if (tokens.length > maxTokens + 1) {
    throw protocolError(`${tokens.length} tokens in a sample where ${maxTokens} at most were asked for`);
  }
  const badToken = tokens.find((token) => !Number.isInteger(token) || token < 0);
  if (badToken !== undefined) throw protocolError(`${badToken} for a token`);
  const badLogprob = logprobs?.find((logprob) => !(logprob <= ROUNDING));
  if (badLogprob !== undefined) throw protocolError(`a log-probability of ${badLogprob}; none is above 0`);
}

/** Some servers leave out the first prompt log-prob, which is undefined, and so send one fewer. */
function promptLogprobsOf(
  request: SampleRequest,
  { promptLogprobs }: SampleResult,
): SampleResult['promptLogprobs'] {
  if (!request.promptLogprobs || promptLogprobs === null) return null;
  const missingCount = request.prompt.length - promptLogprobs.length;
  if (missingCount === 0) return [null, ...promptLogprobs.slice(1)];
  if (missingCount === 1) return [null, ...promptLogprobs];
  throw protocolError(`${promptLogprobs.length} prompt log-probs for ${request.prompt.length} tokens`);
}

function protocolError(what: string): DomainError {
  return new DomainError('protocol-error', `The training service sent ${what}.`);
}
