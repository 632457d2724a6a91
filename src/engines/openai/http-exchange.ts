import type { Dispatcher, Pool } from 'undici';
import { isDefect } from '../../core/defects';
import { errorCodeOf } from '../../core/error-code';
import type { Cancellation } from './cancellation';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
  readonly timeoutMs: number;
}

export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface HttpAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly text: string;
}

interface HttpFailure {
  readonly kind: 'failure';
  readonly reason: string;
  readonly cause: unknown;
  /** Of the answer that broke off; absent where none began. */
  readonly status?: number;
}

export type HttpOutcome =
  | HttpAnswer
  /** Nothing came, or what came broke off. */
  | HttpFailure
  | { readonly kind: 'timeout' }
  | { readonly kind: 'too-large' };

/** A completion has some hundred kB at most; what reads more would keep the thread from everything else. */
export const MOST_ANSWER_BYTES = 4 * 2 ** 20;
/** The call itself is wrong: no other attempt would help. */
const NOT_THE_SERVERS_FAULT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);

/**
 * One request and its whole answer. The connection of a request that is given up is closed at once, so that the server
 * can notice. Rejects with the reason when cancelled.
 */
export function exchange(pool: Pool, request: HttpRequest, cancellation: Cancellation): Promise<HttpOutcome> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(cancellation, resolve, reject);
    handler.begin(request.timeoutMs);
    if (handler.isSettled) return;
    const { method, path, headers, body } = request;
    try {
      // The timeouts here bound silence, not the whole; and they are coarse.
      pool.dispatch({ method, path, headers, body, headersTimeout: 0, bodyTimeout: 0 }, handler);
    } catch (error) {
      handler.fail(error);
    }
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  isSettled = false;
  private controller: Dispatcher.DispatchController | null = null;
  private timer: NodeJS.Timeout | undefined;
  private status = 0;
  private headers: HttpHeaders = {};
  private readonly chunks: Buffer[] = [];
  private byteCount = 0;

  constructor(
    private readonly cancellation: Cancellation,
    private readonly resolve: (outcome: HttpOutcome) => void,
    private readonly reject: (reason: unknown) => void,
  ) {}

  begin(timeoutMs: number): void {
    this.timer = setTimeout(() => {
      if (this.settle()) this.giveUp({ kind: 'timeout' });
    }, timeoutMs);
    this.cancellation.listen((reason) => {
      if (!this.settle()) return;
      this.controller?.abort(new Error('cancelled'));
      this.reject(reason);
    });
  }

  fail(error: unknown): void {
    if (!this.settle()) return;
    if (NOT_THE_SERVERS_FAULT.has(errorCodeOf(error)) || isDefect(error)) this.reject(error);
    else this.resolve({ ...failureOf(error), ...(this.status > 0 && { status: this.status }) });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // Given up while it waited for a connection.
    if (this.isSettled) controller.abort(new Error('given up'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HttpHeaders): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isSettled) return;
    this.byteCount += chunk.length;
    if (this.byteCount <= MOST_ANSWER_BYTES) this.chunks.push(chunk);
    else if (this.settle()) this.giveUp({ kind: 'too-large' });
  }

  onResponseEnd(): void {
    if (this.isSettled) return;
    // Before it counts as settled: what throws here is told to `onResponseError`.
    const [first] = this.chunks;
    const bytes = this.chunks.length === 1 && first ? first : Buffer.concat(this.chunks);
    const text = bytes.toString('utf8');
    this.settle();
    this.resolve({ kind: 'answer', status: this.status, headers: this.headers, text });
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(error);
  }

  private giveUp(outcome: HttpOutcome): void {
    this.chunks.length = 0;
    this.controller?.abort(new Error(outcome.kind));
    this.resolve(outcome);
  }

  private settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    clearTimeout(this.timer);
    this.cancellation.ignore();
    return true;
  }
}

export function failureOf(error: unknown): HttpFailure {
  return { kind: 'failure', reason: reasonOf(error, errorCodeOf(error)), cause: error };
}

function reasonOf(error: unknown, code: string): string {
  const message: unknown =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : null;
  return typeof message === 'string' && message !== '' ? message : code || 'connection failed';
}
