import type { Client } from '@temporalio/client';
import { ANSWER_LIMIT_MS } from './workflow-answers';

/** Deletes the history of a closed workflow. One that stays is no harm: without a folder it leaves its name free. */
export async function forgetWorkflow(client: Client, workflowId: string): Promise<void> {
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflowService.deleteWorkflowExecution({
        namespace: client.options.namespace,
        workflowExecution: { workflowId },
      }),
    );
  } catch {
    // Gone already, or the server is away or does not allow it.
  }
}
