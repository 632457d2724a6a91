import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/workflow';
import { TimeoutFailure } from '@temporalio/common';

/** The domain's code of a failure, as the activity interceptor wrote it. */
export function failureCode(error: unknown): string | null {
  const cause = rootCause(error);
  return cause instanceof ApplicationFailure ? (cause.type ?? null) : null;
}

export function failureMessage(error: unknown): string {
  const cause = rootCause(error);
  return cause instanceof Error ? cause.message : String(cause);
}

/** An activity took longer than it may, all its attempts together. */
export function isTimedOut(error: unknown): boolean {
  return rootCause(error) instanceof TimeoutFailure;
}

function rootCause(error: unknown): unknown {
  if (error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) return error.cause ?? error;
  return error;
}
