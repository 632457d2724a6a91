import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { DomainError } from '../core/errors';

/** Tells Temporal which domain failures are worth a retry. Registered once, so that no activity can forget it. */
export class DomainFailureInterceptor implements ActivityInboundCallsInterceptor {
  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      return await next(input);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      throw ApplicationFailure.create({
        type: error.code,
        message: error.message,
        nonRetryable: !error.retryable,
        cause: error,
      });
    }
  }
}
