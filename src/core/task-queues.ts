/** One queue a kind of work, so that a fleet can be scaled and limited by what it does. */
export const TASK_QUEUES = {
  workflows: 'everstep',
  training: 'everstep-training',
  sampling: 'everstep-sampling',
  grading: 'everstep-grading',
  judging: 'everstep-judging',
} as const;

export type WorkerRole = keyof typeof TASK_QUEUES;
