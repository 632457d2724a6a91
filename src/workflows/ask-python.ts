import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { ActivityCancellationType, proxyActivities, sleep } from '@temporalio/workflow';
import type { PythonActivity, PythonAsk } from '../core/python';

type PythonActivities = Record<PythonActivity, (input: PythonAsk['input']) => Promise<unknown>>;

/** Of the failure with which a worker says that it has no such activity. */
const NOT_FOUND = 'NotFoundError';
/** Another worker of the queue may have it, or the next release of this one. */
const ATTEMPTS_TO_FIND = 5;

/**
 * Have a Python worker do one piece of work and return what it answers.
 *
 * Its id says what is asked, so that whoever asks again while it is under way gets the same answer. A worker that dies
 * is replaced without limit; how often a failure of the work itself is tried again is the Python worker's to say. An activity that
 * no worker has ends it.
 */
export async function askPython({ activity, taskQueue, input }: PythonAsk): Promise<unknown> {
  const python = proxyActivities<PythonActivities>({
    taskQueue,
    startToCloseTimeout: '7 days',
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: {
      initialInterval: '500 ms',
      backoffCoefficient: 2,
      maximumInterval: '10 seconds',
      nonRetryableErrorTypes: [NOT_FOUND],
    },
  });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await python[activity](input);
    } catch (error) {
      if (attempt >= ATTEMPTS_TO_FIND || !isNotFound(error)) throw error;
    }
    await sleep(2 ** (attempt - 1) * 1000);
  }
}

function isNotFound(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  return cause instanceof ApplicationFailure && cause.type === NOT_FOUND && !cause.nonRetryable;
}
