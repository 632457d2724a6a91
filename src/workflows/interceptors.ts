import type { Next, WorkflowExecuteInput, WorkflowInboundCallsInterceptor } from '@temporalio/workflow';
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { isOwnType, missingOf } from './input-shapes';

/**
 * Fails a workflow whose input is none that Everstep sends: anybody who reaches the server can start one, and a workflow that stumbles
 * over its input is tried for ever.
 */
class InputInterceptor implements WorkflowInboundCallsInterceptor {
  async execute(
    input: WorkflowExecuteInput,
    next: Next<WorkflowInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    const { workflowType, continuedFromExecutionRunId } = workflowInfo();
    // Every object has functions of some names.
    if (!isOwnType(workflowType))
      throw ApplicationFailure.nonRetryable(`Everstep has no workflow ${workflowType}.`, 'bad-config');
    const [given, carried] = input.args;
    const isCarriedByNone = carried !== undefined && continuedFromExecutionRunId === undefined;
    const missing = isCarriedByNone
      ? 'only an execution that goes on from another one has a second argument'
      : missingOf(workflowType, given);
    if (missing === null) return next(input);
    throw ApplicationFailure.nonRetryable(
      `Nothing of Everstep starts ${workflowType} with such an input: ${missing}. Leave starting it to the command or the library.`,
      'bad-config',
    );
  }
}

/** Temporal's bundler takes the export of this name. */
export const interceptors = () => ({ inbound: [new InputInterceptor()] });
