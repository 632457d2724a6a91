import type { Logger } from 'pino';
import { errors, Pool } from 'undici';
import { DomainError } from '../../core/errors';
import { stripEnd } from '../../core/strip-ends';
import { isObject } from './codec/json-values';
import { backoffMs, pause, retryAfterMs } from './backoff';
import { expectManyListeners } from './shared-work';
import type { WaitReport } from './waiting';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly timeoutMs?: number | undefined;
  /** Whether the call may be sent again although the first may have arrived. Default true. */
  readonly isResendable?: boolean | undefined;
  /** What an answer may have; one that is longer is broken off and refused with `protocol-error`. Default 64 MiB. */
  readonly mostBytes?: number | undefined;
  /** A long poll: 408 and a timeout are answers ("still pending"), not failures. */
  readonly isPoll?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface TransportOptions {
  readonly baseUrl: URL;
  readonly logger: Logger | undefined;
  readonly waits: WaitReport;
  /** How long a call goes on while nothing but failures come back. */
  readonly unreachableAfterMs: number;
  readonly retryDelayMs: number;
}

/**
 * HTTP to one server. Back-pressure, outages and billing pauses are waited out and reported;
 * every other answer, good or bad, is returned for the caller to judge.
 */
export interface Transport {
  send(call: HttpCall): Promise<HttpReply>;
  close(): Promise<void>;
}

type Outcome =
  | { readonly reply: HttpReply }
  | { readonly error: unknown; readonly reason: string; readonly mayHaveArrived: boolean };

type Verdict =
  | { readonly reply: HttpReply }
  | { readonly waitMs: number; readonly what: string; readonly isFailure: boolean };

const MEBIBYTE = 2 ** 20;
const MOST_ANSWER_BYTES = 64 * MEBIBYTE;
const TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;
const BILLING_PAUSE_MS = 5_000;
/** A server that comes back should be noticed soon. */
const LONGEST_RECONNECT_MS = 2_000;
const CONFLICT_RETRIES = 3;
const CALL_CONNECTIONS = 128;
const POLL_CONNECTIONS = 2048;
const FAILED_BEFORE_SENDING = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** The call itself is wrong, or this client was closed: no other attempt would help. */
const NOT_THE_SERVERS_FAULT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);
const PENDING: HttpReply = {
  status: 408,
  contentType: 'application/json',
  headers: {},
  body: Buffer.from('{"type":"try_again"}'),
};

export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, unreachableAfterMs } = options;
  const prefix = stripEnd(baseUrl.pathname, '/');
  const connect = { timeout: CONNECT_TIMEOUT_MS };
  const calls = new Pool(baseUrl.origin, { connect, connections: CALL_CONNECTIONS });
  // Polls are held for long; in a pool of their own they cannot keep other calls waiting.
  const polls = new Pool(baseUrl.origin, { connect, connections: POLL_CONNECTIONS });

  async function send(call: HttpCall): Promise<HttpReply> {
    const wait = options.waits.open();
    if (call.signal) expectManyListeners(call.signal);
    const isExhausted = createPatience(unreachableAfterMs);
    try {
      for (let attemptCount = 0; ; attemptCount++) {
        call.signal?.throwIfAborted();
        const outcome = await attempt(call.isPoll ? polls : calls, prefix, call);
        call.signal?.throwIfAborted();
        refuseUnknownState(call, outcome);
        const verdict = judge(call, outcome, { attemptCount, retryDelayMs: options.retryDelayMs });
        if ('reply' in verdict) return verdict.reply;
        if (isExhausted(verdict)) throw unreachable(baseUrl, outcome, unreachableAfterMs);
        options.logger?.debug(
          { path: call.path, attemptCount, waitMs: verdict.waitMs, what: verdict.what },
          'waiting',
        );
        wait.set({ what: verdict.what });
        await pause(verdict.waitMs, call.signal);
      }
    } finally {
      wait.clear();
    }
  }

  return {
    send,
    async close() {
      await Promise.all([calls.destroy(), polls.destroy()]);
    },
  };
}

/** Whether nothing but failures came for too long; any other answer shows that the server is there. */
function createPatience(limitMs: number): (wait: { isFailure: boolean; waitMs: number }) => boolean {
  let failingSince: number | null = null;
  return ({ isFailure, waitMs }) => {
    failingSince = isFailure ? (failingSince ?? performance.now()) : null;
    return failingSince !== null && performance.now() - failingSince + waitMs > limitMs;
  };
}

async function attempt(pool: Pool, prefix: string, call: HttpCall): Promise<Outcome> {
  const timeout = call.timeoutMs ?? TIMEOUT_MS;
  try {
    const response = await pool.request({
      method: call.method,
      path: prefix + call.path,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      ...(call.headers && { headers: { ...call.headers } }),
      ...(call.body !== undefined && { body: call.body }),
      ...(call.signal && { signal: call.signal }),
    });
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const),
    );
    const body = await readBody(response.body, call);
    return {
      reply: { status: response.statusCode, contentType: headers['content-type'] ?? '', headers, body },
    };
  } catch (error) {
    if (call.isPoll && error instanceof errors.HeadersTimeoutError) return { reply: PENDING };
    if (error instanceof DomainError) throw error;
    return asFailure(error);
  }
}

/** Ending it in the middle closes the connection, so that the server can notice. */
async function readBody(
  parts: AsyncIterable<Uint8Array>,
  { path, mostBytes = MOST_ANSWER_BYTES }: HttpCall,
): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let byteCount = 0;
  for await (const part of parts) {
    byteCount += part.length;
    if (byteCount > mostBytes) throw tooLong(path, mostBytes);
    read.push(part);
  }
  return Buffer.concat(read, byteCount);
}

function tooLong(path: string, mostBytes: number): DomainError {
  return new DomainError(
    'protocol-error',
    `The training service's answer to ${path} is longer than ${(mostBytes / MEBIBYTE).toFixed(1)} MiB, which is more than what was asked for can take. Check that the engine URL is that of a training service, and its log.`,
  );
}

/** Node's own errors may come from another realm, so their class says nothing; their code does. */
function asFailure(error: unknown): Outcome {
  const code = isObject(error) && typeof error['code'] === 'string' ? error['code'] : '';
  if (NOT_THE_SERVERS_FAULT.has(code)) throw error;
  const message = isObject(error) && typeof error['message'] === 'string' ? error['message'] : '';
  return { error, reason: message === '' ? code : message, mayHaveArrived: !FAILED_BEFORE_SENDING.has(code) };
}

/**
 * A server that does not recognise a resent request must not get one that may have arrived: it would
 * train twice. Nobody knows the model's state then, so it counts as lost.
 */
function refuseUnknownState(call: HttpCall, outcome: Outcome): void {
  if (call.isResendable !== false) return;
  const isLost =
    'error' in outcome ? outcome.mayHaveArrived : outcome.reply.status >= 500 && outcome.reply.status !== 503;
  if (!isLost) return;
  const reason = 'error' in outcome ? outcome.reason : `status ${outcome.reply.status}`;
  throw new DomainError(
    'session-lost',
    `The connection broke after ${call.path} was sent (${reason}) and this server does not recognise resent requests, so the model's state is unknown. Go on from the last checkpoint.`,
    { cause: 'error' in outcome ? outcome.error : undefined },
  );
}

function judge(
  call: HttpCall,
  outcome: Outcome,
  { attemptCount, retryDelayMs }: { attemptCount: number; retryDelayMs: number },
): Verdict {
  const delayMs = backoffMs(attemptCount, retryDelayMs);
  if ('error' in outcome) {
    return { waitMs: Math.min(delayMs, LONGEST_RECONNECT_MS), what: 'connection', isFailure: true };
  }
  const { reply } = outcome;
  const what = reasonToWait(call, reply.status, attemptCount);
  if (what === null || reply.headers['x-should-retry'] === 'false') return { reply };
  const waitMs = retryAfterMs(reply.headers) ?? (what === 'billing' ? BILLING_PAUSE_MS : delayMs);
  return { waitMs, what, isFailure: what === 'server-error' };
}

/** null where waiting would not change the answer. */
function reasonToWait(call: HttpCall, status: number, attemptCount: number): string | null {
  switch (status) {
    case 402:
      return 'billing';
    case 408:
      return call.isPoll ? null : 'server-busy';
    case 409:
      return attemptCount < CONFLICT_RETRIES ? 'conflict' : null;
    case 429:
      return 'rate-limit';
    default:
      return status >= 500 && status !== 501 ? 'server-error' : null;
  }
}

function unreachable(baseUrl: URL, outcome: Outcome, afterMs: number): DomainError {
  const reason =
    'error' in outcome
      ? outcome.reason
      : `status ${outcome.reply.status} ${outcome.reply.body.toString('utf8', 0, 200)}`;
  return new DomainError(
    'unreachable',
    `The training service at ${baseUrl.origin} gave nothing but failures for ${Math.round(afterMs / 1000)} s (${reason}). Check that it is up and that the URL is right.`,
    { retryable: true, cause: 'error' in outcome ? outcome.error : undefined },
  );
}
