import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { PythonActivity, PythonAsk } from '../core/python';

type PythonActivities = Record<PythonActivity, (input: PythonAsk['input']) => Promise<unknown>>;

/**
 * Have a Python worker do one piece of work and return what it answers.
 *
 * Its id says what is asked, so that whoever asks again while it is under way gets the same answer. A worker that dies
 * is replaced without limit; how often a failure of the work itself is tried again is the Python worker's to say.
 */
export async function askPython({ activity, taskQueue, input }: PythonAsk): Promise<unknown> {
  const python = proxyActivities<PythonActivities>({
    taskQueue,
    startToCloseTimeout: '7 days',
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  });
  return python[activity](input);
}
