import { makeContinueAsNewFunc } from '@temporalio/workflow';

/** Goes on as a workflow of Everstep's workers, with whatever it likes. */
export async function handOver(type: string, ...args: unknown[]): Promise<void> {
  await makeContinueAsNewFunc({ workflowType: type, taskQueue: 'everstep' })(...args);
}
