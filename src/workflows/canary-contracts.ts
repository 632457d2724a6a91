import type { CanaryReport, CanaryRequest } from '../core/canary';

/** The workflow id is `canary/<name>` and the time the firing was due; a Temporal Schedule starts it. */
export interface CanaryInput {
  readonly request: CanaryRequest;
  /** The server knows our search attributes. */
  readonly useSearchAttributes?: true;
}

/** How a firing ended. */
export interface CanaryResult extends CanaryReport {
  /** What became of the message about an alarm; absent where none was due. */
  readonly webhook?: 'told' | 'not told';
}
