import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/workflow';
import { TimeoutFailure } from '@temporalio/common';
import { DomainError } from '../../core/errors';

/** The domain's code of a failure, as the activity interceptor wrote it. */
export function failureCode(error: unknown): string | null {
  const cause = rootCause(error);
  return cause instanceof ApplicationFailure ? (cause.type ?? null) : null;
}

export function failureMessage(error: unknown): string {
  const cause = rootCause(error);
  return cause instanceof Error ? cause.message : String(cause);
}

/** For handlers of changes: one that throws anything else would hold up the whole run. */
export function asApplicationFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  return ApplicationFailure.create({
    type: error instanceof DomainError ? error.code : (failureCode(error) ?? 'unexpected'),
    message: failureMessage(error),
    nonRetryable: true,
  });
}

/** An activity took longer than it may, all its attempts together. */
export function isTimedOut(error: unknown): boolean {
  return rootCause(error) instanceof TimeoutFailure;
}

function rootCause(error: unknown): unknown {
  if (error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) return error.cause ?? error;
  return error;
}
