/** One queue a kind of work, so that a fleet can be scaled and limited by what it does. */
export const TASK_QUEUES = {
  workflows: 'everstep',
  training: 'everstep-training',
  sampling: 'everstep-sampling',
  grading: 'everstep-grading',
  judging: 'everstep-judging',
} as const;

/**
 * Sessions of training services are kept beside the steps, by the same workers: one goes on for as long as its run, and would
 * take a place from segments for as long.
 */
export const SESSION_QUEUE = 'everstep-sessions';

/** Making runs ready is computing; it is done by workers with the role `workflows`, a few at a time, and keeps no bookkeeping waiting. */
export const PREPARATION_QUEUE = 'everstep-preparation';

/** All queues that Everstep's own workers poll. */
export const OWN_QUEUES: readonly string[] = [
  ...Object.values(TASK_QUEUES),
  SESSION_QUEUE,
  PREPARATION_QUEUE,
];

/**
 * A killed worker's task of a workflow is given to another after this long. A replay of the longest history an
 * execution may have takes a fraction of it; one that took longer would never get done.
 */
export const WORKFLOW_TASK_TIMEOUT = '5 seconds';

export type WorkerRole = keyof typeof TASK_QUEUES;
