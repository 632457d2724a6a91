import type { Next, WorkflowExecuteInput, WorkflowInboundCallsInterceptor } from '@temporalio/workflow';
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { fieldsOf } from '../core/controls';
import { flawOfCarried } from './carried-shape';
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
      : (missingOf(workflowType, given) ?? (carried === undefined ? null : flawOfState(given, carried)));
    if (missing === null) return next(input);
    throw ApplicationFailure.nonRetryable(
      `Nothing of Everstep starts ${workflowType} with such an input: ${missing}. Leave starting it to the command or the library.`,
      'bad-config',
    );
  }
}

/** Of the state of a training run: no other workflow takes a second argument. */
function flawOfState(given: unknown, carried: unknown): string | null {
  const { run } = fieldsOf(given);
  return flawOfCarried(carried, { run: String(run), workflowId: workflowInfo().workflowId });
}

/** Temporal's bundler takes the export of this name. */
export const interceptors = () => ({ inbound: [new InputInterceptor()] });
