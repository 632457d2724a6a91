export interface RefusalOptions {
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
  readonly retryAfterSeconds?: number;
}

/** A request that is refused for what it is, before the domain has anything to say. */
export class RequestError extends Error {
  readonly param: string | null;
  readonly code: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    readonly status: number,
    { message, param = null, code = null, retryAfterSeconds }: RefusalOptions,
  ) {
    super(message);
    this.name = 'RequestError';
    this.param = param;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds ?? null;
  }
}
