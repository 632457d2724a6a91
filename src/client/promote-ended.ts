import type { Client } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ControlReceipt } from '../core/controls';
import type { PromotionRequest } from '../core/controls/promotion';
import { DomainError } from '../core/errors';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import type { PromoteCheckpointInput } from '../workflows/promote-checkpoint';

const LIMIT_MS = 90_000;

/** Has a worker promote a checkpoint of a run that has ended: its own workflow can no longer be asked to. */
export async function promoteEnded(client: Client, input: PromoteCheckpointInput): Promise<ControlReceipt> {
  const { run, request } = input;
  const workflowId = `promote/${run}@${request.checkpoint}`;
  try {
    return await client.withDeadline(Date.now() + LIMIT_MS, async () => {
      await client.workflow.start('promoteCheckpoint', {
        workflowId,
        taskQueue: TASK_QUEUES.workflows,
        args: [input],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      });
      return client.workflow.getHandle<() => Promise<ControlReceipt>>(workflowId).result();
    });
  } catch (error) {
    throw explain(error, request, run);
  }
}

function explain(error: unknown, { checkpoint }: PromotionRequest, run: string): unknown {
  if (error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure) {
    return new DomainError('refused', `Run "${run}" was not changed. ${error.cause.message}`, {
      cause: error,
    });
  }
  if (error instanceof WorkflowFailedError) return error;
  return new DomainError(
    'unreachable',
    `No worker promoted ${run}@${checkpoint} within ${LIMIT_MS / 1000} s; it may still be when one does. Start one with \`npx everstep worker\`.`,
    { cause: error },
  );
}
