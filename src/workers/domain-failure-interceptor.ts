import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { DomainError } from '../core/errors';

/** Any other failure is a defect of ours or of a plug-in: tried again in case it passes, then reported for good. */
const UNEXPECTED_ATTEMPTS = 10;

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
      if (error instanceof CancelledFailure || error instanceof ApplicationFailure) throw error;
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
    if (this.context.info.attempt < UNEXPECTED_ATTEMPTS || this.context.cancellationSignal.aborted) return error;
    return ApplicationFailure.create({
      type: 'unexpected',
      message: `${error instanceof Error ? error.message : String(error)} (after ${UNEXPECTED_ATTEMPTS} attempts)`,
      nonRetryable: true,
      ...(error instanceof Error && { cause: error }),
    });
  }
}
