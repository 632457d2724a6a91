import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { EvaluationActivities } from '../activities/evaluation-activities';
import type { RolloutActivities } from '../activities/rollout-activities';
import type { PreparationActivities, RunActivities } from '../activities/run-activities';
import type { SessionActivities, TrainingActivities } from '../activities/training-activities';
import { PREPARATION_QUEUE, SESSION_QUEUE, TASK_QUEUES } from '../core/task-queues';

/** Light bookkeeping on the store, done again elsewhere within seconds when its worker dies. */
export const bookkeeping = proxyActivities<RunActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '4 seconds',
  retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '20 seconds' },
});

/** Reading and rendering a dataset may take long, so it reports that it lives. */
export const preparation = proxyActivities<PreparationActivities>({
  taskQueue: PREPARATION_QUEUE,
  startToCloseTimeout: '6 hours',
  // A file of many megabytes is parsed in one go. What ends without a word again and again is given up by a mark in the run's folder.
  heartbeatTimeout: '15 seconds',
  // What a cancelled one leaves is removed, which has to come after it.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '20 seconds' },
});

/**
 * Steps of the model. A dead worker is noticed within seconds, and retries are flat and short: the
 * service queues the next step, so a late worker is what costs time.
 */
export const trainer = proxyActivities<TrainingActivities>({
  taskQueue: TASK_QUEUES.training,
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '3 seconds',
  // One that is cancelled hands over: how far it got is what counts.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  // A service that is away or full, and a full disk, are waited for by the run, which shows it.
  retry: {
    initialInterval: '250 ms',
    backoffCoefficient: 1.5,
    maximumInterval: '5 seconds',
    nonRetryableErrorTypes: ['unreachable', 'engine-busy', 'store-full'],
  },
});

/** A last word to the service about a run that is being cancelled: tried once, and not for long. */
export const closer = proxyActivities<TrainingActivities>({
  taskQueue: TASK_QUEUES.training,
  scheduleToStartTimeout: '5 seconds',
  startToCloseTimeout: '20 seconds',
  heartbeatTimeout: '3 seconds',
  retry: { maximumAttempts: 1 },
});

/**
 * Keeps the service's session alive for as long as the run needs it, on whatever worker lives. Services keep a session for
 * minutes without a word, so that a dead keeper may be noticed late; there is one a run, and each heartbeat is a write of the server.
 */
export const keeper = proxyActivities<SessionActivities>({
  taskQueue: SESSION_QUEUE,
  startToCloseTimeout: '365 days',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 1, maximumInterval: '5 seconds' },
});

const CELL = {
  startToCloseTimeout: '7 days',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '30 seconds' },
} as const;

/** One evaluator on one snapshot; resumes from its journal. What runs answers in sandboxes is done by workers for that. */
export const evaluator: EvaluationActivities = evaluatorFor(undefined);

/** With a limit of wall time for a cell, all attempts together. */
export function evaluatorFor(seconds: number | undefined): EvaluationActivities {
  const limited = { ...CELL, ...(seconds !== undefined && { scheduleToCloseTimeout: seconds * 1000 }) };
  const sampling = proxyActivities<EvaluationActivities>({ ...limited, taskQueue: TASK_QUEUES.sampling });
  const grading = proxyActivities<EvaluationActivities>({ ...limited, taskQueue: TASK_QUEUES.grading });
  return {
    async evaluateCell(input) {
      const cell = await sampling.evaluateCell(input);
      return cell.isForGrading ? grading.evaluateCell(input) : cell;
    },
  };
}

/** An evaluator whose answers are stored and judged again. */
export const judge = proxyActivities<EvaluationActivities>({ ...CELL, taskQueue: TASK_QUEUES.judging });

/** Rollouts of a step. What keeps them waiting is shown by the run, so it is not retried unseen. */
export const roller = proxyActivities<RolloutActivities>({
  taskQueue: TASK_QUEUES.sampling,
  startToCloseTimeout: '7 days',
  heartbeatTimeout: '5 seconds',
  retry: {
    initialInterval: '250 ms',
    backoffCoefficient: 1.5,
    maximumInterval: '10 seconds',
    nonRetryableErrorTypes: ['unreachable', 'engine-busy', 'store-full', 'checkpoint-missing'],
  },
});
