import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';

/** Whether a workflow is known to the server and not yet closed. */
export async function isWorkflowRunning(workflowId: string): Promise<boolean> {
  try {
    const { status } = await Context.current().client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' || status.name === 'PAUSED';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
