import { DomainError } from '../../core/errors';
import { pause } from './backoff';
import type { JsonObject } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { failureOf, requestFailed } from './failures';
import type { CallOptions, ProtocolCall } from './protocol-call';
import { jsonOf } from './protocol-call';
import type { HttpReply } from './transport';

/** A promise of the server. It can be collected by anyone, any number of times. */
export interface FutureRef {
  readonly requestId: string;
}

/** Servers hold a poll for a while; the official ones for less than this. */
const POLL_TIMEOUT_MS = 45_000;
/** A poll that came back sooner than this was not held, so the next one is delayed. */
const HELD_AT_LEAST_MS = 100;
const LONGEST_IDLE_MS = 1_000;

export const EITHER_CODEC = 'application/x-protobuf, application/json';

/** Sends a request that is answered at once with a promise. */
export async function submit(connection: Connection, call: ProtocolCall): Promise<FutureRef> {
  const answer = await connection.request(call);
  const requestId = answer['request_id'];
  if (typeof requestId === 'string' || typeof requestId === 'number') return { requestId: String(requestId) };
  throw new DomainError('protocol-error', `The answer to ${call.subject.what} has no request_id.`);
}

export interface CollectCall extends CallOptions {
  /** The protocol's name of the request, e.g. `ForwardBackward`. */
  readonly type: string;
  readonly subject: Subject;
  readonly accept?: string;
  /** What the result may have. */
  readonly mostBytes?: number;
}

/** Waits for a promise until it is kept or the signal fires. A failed one throws `request-failed`. */
export async function collect(connection: Connection, ref: FutureRef, call: CollectCall): Promise<HttpReply> {
  const wait = connection.waits.open();
  let allowsMetadata = true;
  let idleMs = 0;
  try {
    for (let iteration = 0; ; iteration++) {
      const askedAt = performance.now();
      const reply = await connection.send(pollCall(ref, call, { iteration, allowsMetadata }));
      const state = stateOf(reply, call.subject);
      if (state.kind === 'done') return reply;
      if (state.kind === 'metadata') {
        // Asking for metadata alone again would be answered with it again.
        allowsMetadata = false;
        continue;
      }
      if (state.queueState === undefined || state.queueState === 'active') wait.clear();
      else wait.set({ what: state.reason ?? 'queue', queueState: state.queueState });
      idleMs =
        performance.now() - askedAt < HELD_AT_LEAST_MS ? Math.min(LONGEST_IDLE_MS, idleMs * 2 + 10) : 0;
      if (idleMs > 0) await pause(idleMs, call.signal);
    }
  } finally {
    wait.clear();
  }
}

/** The result of a promise that is kept in JSON. */
export async function collectJson(
  connection: Connection,
  ref: FutureRef,
  call: CollectCall,
): Promise<JsonObject> {
  const reply = await collect(connection, ref, call);
  return reply.body.length === 0 ? {} : jsonOf(reply, call.subject);
}

export function isProtobuf(reply: HttpReply): boolean {
  return reply.contentType.includes('protobuf');
}

interface FutureState {
  readonly kind: 'done' | 'metadata' | 'pending';
  readonly queueState?: string;
  readonly reason?: string;
}

function pollCall(
  { requestId }: FutureRef,
  call: CollectCall,
  { iteration, allowsMetadata }: { iteration: number; allowsMetadata: boolean },
): ProtocolCall {
  return {
    route: 'retrieve_future',
    subject: call.subject,
    body: { request_id: requestId, allow_metadata_only: allowsMetadata },
    accept: call.accept ?? 'application/json',
    headers: { 'x-tinker-request-iteration': String(iteration), 'x-tinker-request-type': call.type },
    timeoutMs: POLL_TIMEOUT_MS,
    mostBytes: call.mostBytes,
    isPoll: true,
    signal: call.signal,
  };
}

function stateOf(reply: HttpReply, subject: Subject): FutureState {
  if (reply.status === 408) return pendingState(reply);
  if (reply.status < 200 || reply.status > 299) throw failureOf(reply, subject);
  if (isProtobuf(reply) || !mayBeState(reply)) return { kind: 'done' };
  const body = jsonOf(reply, subject);
  if (body['type'] === 'try_again') return pendingState(reply);
  if (body['status'] === 'complete_metadata') return { kind: 'metadata' };
  if (typeof body['error'] === 'string')
    throw requestFailed(subject, body['error'], categoryOf(body['category']));
  return { kind: 'done' };
}

/** States are small objects, so a result of megabytes is not parsed twice. */
function mayBeState(reply: HttpReply): boolean {
  return reply.body.length > 0 && reply.body.length < 65_536;
}

function pendingState(reply: HttpReply): FutureState {
  const text = reply.body.toString('utf8');
  const queueState = /"queue_state"\s*:\s*"(\w+)"/.exec(text)?.[1];
  const reason = /"queue_state_reason"\s*:\s*"([^"\\]{1,300})"/.exec(text)?.[1];
  return {
    kind: 'pending',
    ...(queueState !== undefined && { queueState }),
    ...(reason !== undefined && { reason }),
  };
}

function categoryOf(value: unknown): 'user' | 'server' | 'unknown' {
  return value === 'user' || value === 'server' ? value : 'unknown';
}
