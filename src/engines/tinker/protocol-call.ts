import { randomUUID } from 'node:crypto';
import type { JsonObject } from './codec/json-values';
import { objectFrom, parseJson } from './codec/json-values';
import type { Subject } from './failures';
import type { HttpCall, HttpReply } from './transport';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** A JSON request. `route` is what follows `/api/v1/`, or a path of its own beside the protocol where it begins with `/`. */
export interface ProtocolCall extends CallOptions {
  readonly route: string;
  readonly subject: Subject;
  readonly method?: HttpCall['method'];
  readonly body?: JsonObject | Uint8Array;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isResendable?: boolean;
  readonly isPoll?: boolean;
  readonly timeoutMs?: number;
  /** What the answer may have. */
  readonly mostBytes?: number | undefined;
}

/** The generation of the protocol that this client speaks. */
export const SDK_VERSION = '0.38.0';

/** The JSON object of an answer. */
export function jsonOf(reply: HttpReply, { what }: Subject): JsonObject {
  return objectFrom(parseJson(reply.body.toString('utf8'), `the answer to ${what}`), `the answer to ${what}`);
}

export function httpCall(call: ProtocolCall, key: string | undefined): HttpCall {
  const { route, body, accept, headers, method = 'POST' } = call;
  return {
    method,
    timeoutMs: call.timeoutMs,
    mostBytes: call.mostBytes,
    isResendable: call.isResendable,
    isPoll: call.isPoll,
    signal: call.signal,
    path: route.startsWith('/') ? route : `/api/v1/${route}`,
    headers: {
      'user-agent': 'everstep',
      accept: accept ?? 'application/json',
      ...(key !== undefined && { 'x-api-key': key }),
      ...(body !== undefined && { 'content-type': contentTypeOf(body) }),
      ...(method !== 'GET' && { 'x-idempotency-key': randomUUID() }),
      ...headers,
    },
    ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
  };
}

function contentTypeOf(body: JsonObject | Uint8Array): string {
  return body instanceof Uint8Array ? 'application/x-protobuf' : 'application/json';
}
