import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { TASK_QUEUES } from '../core/task-queues';
import { ANSWER_LIMIT_MS } from './workflow-answers';

const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = temporal.api.enums.v1.TaskQueueType;

/** Queues a training run needs. */
const NEEDED = [
  { name: TASK_QUEUES.workflows, taskQueueType: TASK_QUEUE_TYPE_WORKFLOW },
  { name: TASK_QUEUES.workflows, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY },
  { name: TASK_QUEUES.training, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY },
  { name: TASK_QUEUES.sampling, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY },
];

/** Names of queues that no worker polls: what a run puts there waits until one does. */
export async function findUnpolledQueues(client: Client): Promise<string[]> {
  const { namespace } = client.options;
  const checks = NEEDED.map(async ({ name, taskQueueType }) => {
    try {
      const { pollers } = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
        client.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
      );
      return pollers.length === 0 ? [name] : [];
    } catch {
      return [];
    }
  });
  return [...new Set((await Promise.all(checks)).flat())];
}
