import { ApplicationFailure, TemporalFailure, TimeoutFailure, TimeoutType } from '@temporalio/common';

/**
 * What a failure says whose root is a limit of Temporal's own, for people; null for every other failure. The server's
 * own message ("activity Heartbeat timeout") names neither what is wrong nor what to do.
 */
export function timeoutWords(failure: unknown): string | null {
  const root = timeoutIn(failure);
  if (root === null) return null;
  if (failure === root) return 'its workflow took longer than it may on the server';
  return root.timeoutType === TimeoutType.HEARTBEAT
    ? 'the worker that had its work is gone or hangs, and no other brought it to an end'
    : 'its work was not done within the time it may take';
}

/** A failure of ours that has words of its own is none. */
function timeoutIn(failure: unknown): TimeoutFailure | null {
  let inner = failure;
  let said: string | null = null;
  while (inner instanceof TemporalFailure && !(inner instanceof TimeoutFailure)) {
    if (inner instanceof ApplicationFailure) said ??= inner.message;
    inner = inner.cause;
  }
  if (!(inner instanceof TimeoutFailure)) return null;
  return said === null || said === inner.message ? inner : null;
}
