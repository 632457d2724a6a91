import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { isDefect, isUnforeseen, Streaks } from '../core/defects';
import { DomainError } from '../core/errors';
import { askableError, messageOf } from '../evaluation/error-message';

/**
 * A defect of ours or of a plug-in is tried again in case it passes, then reported for good. What the operating
 * system or the network refuses passes some day, so that is retried for as long as it takes.
 */
const DEFECT_ATTEMPTS = 5;

/** Of this process: an attempt that fails by what passes, or one that another worker made, is none of a streak. */
const processStreaks = new Streaks();

/** Tells Temporal which failures are worth a retry. Registered once, so that no activity can forget it. */
export class DomainFailureInterceptor implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly context: Context,
    private readonly streaks = processStreaks,
  ) {}

  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      const result = await next(input);
      this.streaks.end(this.name);
      return result;
    } catch (thrown) {
      const error = askableError(thrown);
      if (!(error instanceof DomainError)) throw this.unexpected(error);
      this.streaks.end(this.name);
      this.context.log.debug('an activity failed', { code: error.code, stack: error.stack });
      throw brief(
        ApplicationFailure.create({
          type: error.code,
          message: messageOf(error),
          nonRetryable: !error.retryable,
        }),
      );
    }
  }

  private unexpected(error: unknown): unknown {
    if (this.failuresInARow(error) < DEFECT_ATTEMPTS) return error;
    this.streaks.end(this.name);
    return brief(
      ApplicationFailure.create({
        type: 'unexpected',
        message: `${messageOf(error)} (after ${DEFECT_ATTEMPTS} attempts)`,
        nonRetryable: true,
        ...(error instanceof Error && { cause: error }),
      }),
    );
  }

  /** A defect is one at every attempt. What nobody foresaw may follow upon an outage, whose attempts do not count. */
  private failuresInARow(error: unknown): number {
    if (isDefect(error)) return this.context.info.attempt;
    if (isUnforeseen(error)) return this.streaks.extend(this.name);
    this.streaks.end(this.name);
    return 0;
  }

  private get name(): string {
    const { activityId, workflowExecution } = this.context.info;
    return `${workflowExecution?.runId ?? ''}/${activityId}`;
  }
}

const STACK_LENGTH = 500;

/** The server keeps no failure of more than some kilobytes, and shows "Failure exceeds size limit" in its place. */
function brief(failure: ApplicationFailure): ApplicationFailure {
  failure.stack = (failure.stack ?? '').slice(0, STACK_LENGTH);
  return failure;
}
