import { DomainError } from '../../core/errors';
import { asSentence } from '../../core/sentences';
import { askableError, messageOf } from '../../evaluation/error-message';
import { isOfWholeCell } from '../../evaluation/evaluators/example-failures';
import { thrownAt } from '../../evaluation/thrown-at';

/** What failed; the word that `rollout_errors/<type>` counts. */
export type RolloutFailureType =
  | 'environment_error'
  | 'environment_timeout'
  | 'environment_garbage'
  | 'rendering_error'
  | 'sampling_error'
  | 'sampling_timeout'
  | 'grader_error'
  | 'grader_timeout'
  | 'judge_error'
  | 'group_rewards_error';

/** A rollout that came to nothing. It says nothing of the others of its group. */
export class RolloutFailure extends Error {
  /** Can be asked what it is, whatever was thrown. */
  override readonly cause: unknown;

  constructor(
    readonly type: RolloutFailureType,
    thrown: unknown,
  ) {
    super(messageOf(thrown));
    this.name = 'RolloutFailure';
    this.cause = askableError(thrown);
  }

  /** The same completions would fail again; what failed in passing is repeated with the same ones. */
  get needsRedraw(): boolean {
    if (this.type === 'judge_error') return !(this.cause instanceof DomainError && this.cause.retryable);
    return !['sampling_error', 'sampling_timeout', 'environment_timeout'].includes(this.type);
  }

  /** The service's or a judge's fault, not the environment's, nor the request's: it may pass. */
  get mayPass(): boolean {
    if (this.type === 'judge_error') return !this.needsRedraw;
    if (this.type === 'sampling_timeout') return true;
    const isFinal = this.cause instanceof DomainError && !this.cause.retryable;
    return this.type === 'sampling_error' && !isFinal;
  }
}

/** Failures of the service are not the rollout's: they pass through. An environment's are its own, whatever they say. */
export function samplingFailure(error: unknown): unknown {
  if (isOfWholeCell(error)) return error;
  const isLate = error instanceof DomainError && error.code === 'timed-out';
  return new RolloutFailure(isLate ? 'sampling_timeout' : 'sampling_error', error);
}

/** What an environment says may be more than a format can write. A format without tools is the config's mistake. */
export function rendering<Value>(render: () => Value): Value {
  try {
    return render();
  } catch (error) {
    if (error instanceof DomainError && error.code === 'bad-config') throw error;
    throw new RolloutFailure('rendering_error', error);
  }
}

/** With the line of somebody's own code that threw it. */
export function failureText({ message, cause }: RolloutFailure): string {
  const place = thrownAt(cause);
  return place === null ? message : `${message} (thrown at ${place})`;
}

export interface FailedGroup {
  /** Of its problem. */
  readonly id: string;
  /** Absent for held-out problems. */
  readonly place?: { readonly step: number; readonly group: number } | undefined;
}

function groupName({ id, place }: FailedGroup): string {
  return place
    ? `group ${place.group} of step ${place.step}, of problem ${JSON.stringify(id)},`
    : `group ${id}`;
}

/** A failure that ends the work on its step, where the run tolerates none. */
export function failedStep(group: FailedGroup, member: number, failure: RolloutFailure): DomainError {
  return new DomainError(
    'request-failed',
    `Rollout ${member + 1} of ${groupName(group)} failed (${failure.type}): ${asSentence(failureText(failure))} ` +
      'Repair it, or tolerate failures with rolloutErrorTolerance: retry or min-viable.',
    { cause: failure, retryable: failure.mayPass },
  );
}
