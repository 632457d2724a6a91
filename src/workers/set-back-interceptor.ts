import type { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { DomainError } from '../core/errors';

const TRAINING = ['trainSupervised', 'trainReinforcement'];
/** They end a run, write what its journals say themselves, or do nothing to it. */
const ALLOWED = ['closeRun', 'continueRun', 'discardRun', 'keepSession'];
const MOST_KNOWN = 10_000;

/** Executions whose history was never set back, which holds for good: one question for each. */
const neverSetBack = new Set<string>();

/**
 * Refuses to train for an execution that was set back (`temporal workflow reset`): its journals and its model are further
 * than it remembers. The workflow goes on from the run's folder then.
 */
export class SetBackInterceptor implements ActivityInboundCallsInterceptor {
  constructor(private readonly context: Context) {}

  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    const { activityType, workflowType = '', workflowExecution } = this.context.info;
    const isAsked = workflowExecution && TRAINING.includes(workflowType) && !ALLOWED.includes(activityType);
    if (isAsked && (await this.isSetBack(workflowExecution))) {
      throw new DomainError(
        'set-back',
        `${workflowExecution.workflowId} was reset to an earlier moment than its journals; it goes on from them.`,
      );
    }
    return next(input);
  }

  private async isSetBack({ workflowId, runId }: { readonly workflowId: string; readonly runId: string }) {
    if (neverSetBack.has(runId)) return false;
    const { raw } = await this.context.client.workflow.getHandle(workflowId, runId).describe();
    if (raw.workflowExtendedInfo?.lastResetTime) return true;
    if (neverSetBack.size >= MOST_KNOWN) neverSetBack.clear();
    neverSetBack.add(runId);
    return false;
  }
}
