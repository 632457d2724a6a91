/**
 * Failures the domain can name.
 *
 * `message` is one line a person can act on: what, where, remedy. `retryable` is the only fact
 * Temporal needs; one activity interceptor turns it into an ApplicationFailure whose type is `code`.
 */
export type ErrorCode =
  | 'bad-config'
  | 'bad-dataset'
  | 'unknown-model'
  | 'unknown-renderer'
  | 'unknown-evaluator'
  | 'unknown-benchmark'
  | 'unknown-run'
  /** No kept checkpoint of a run of ours is called so. */
  | 'unknown-checkpoint'
  | 'run-exists'
  | 'bad-plugin'
  | 'refused'
  | 'store-conflict'
  /** The config.json of a run is not the one that the run was prepared by. */
  | 'record-changed'
  /** The store cannot be written, or read, for now: its disk is full, away, or closed to this process. */
  | 'store-full'
  | 'superseded'
  /** The workflow was set back to an earlier moment than its journals, with `temporal workflow reset`. */
  | 'set-back'
  | 'session-lost'
  | 'engine-busy'
  | 'request-failed'
  | 'context-overflow'
  | 'timed-out'
  /** A person ended it. */
  | 'interrupted'
  | 'sandbox-lost'
  | 'checkpoint-missing'
  | 'checkpoint-damaged'
  | 'unauthorized'
  | 'payment-required'
  | 'over-budget'
  | 'engine-refused'
  | 'unreachable'
  | 'protocol-error'
  | 'temporal-unavailable';

export interface DomainErrorOptions {
  readonly retryable?: boolean;
  /** Whose fault a failed request was, as the training service reports it. */
  readonly category?: 'user' | 'server' | 'unknown';
  readonly cause?: unknown;
}

export class DomainError extends Error {
  readonly retryable: boolean;
  readonly category: DomainErrorOptions['category'];

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: DomainErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'DomainError';
    this.retryable = options.retryable ?? false;
    this.category = options.category;
  }
}
