import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { DomainError } from '../core/errors';

/**
 * A defect of ours or of a plug-in is tried again in case it passes, then reported for good. What the operating
 * system or the network refuses passes some day, so that is retried for as long as it takes.
 */
const DEFECT_ATTEMPTS = 10;
const DEFECTS = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'];

/** Tells Temporal which failures are worth a retry. Registered once, so that no activity can forget it. */
export class DomainFailureInterceptor implements ActivityInboundCallsInterceptor {
  constructor(private readonly context: Context) {}

  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      return await next(input);
    } catch (error) {
      if (!(error instanceof DomainError)) throw this.unexpected(error);
      throw ApplicationFailure.create({
        type: error.code,
        message: error.message,
        nonRetryable: !error.retryable,
        cause: error,
      });
    }
  }

  private unexpected(error: unknown): unknown {
    const isDefect = error instanceof Error && DEFECTS.includes(error.name) && !('code' in error);
    if (!isDefect || this.context.info.attempt < DEFECT_ATTEMPTS) return error;
    return ApplicationFailure.create({
      type: 'unexpected',
      message: `${error.message} (after ${DEFECT_ATTEMPTS} attempts)`,
      nonRetryable: true,
      cause: error,
    });
  }
}
