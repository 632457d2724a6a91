import { ApplicationFailure } from '@temporalio/workflow';
import type { ControlReceipt } from '../core/controls';
import type { PromotionRequest } from '../core/controls/promotion';
import { requirePromotionRequest } from '../core/controls/promotion';
import { DomainError } from '../core/errors';
import { bookkeeping } from './activities';
import { promoteStep } from './training/checkpoint-changes';

export interface PromoteCheckpointInput {
  readonly run: string;
  readonly request: PromotionRequest;
  /** Step of the best before; null where there was none. */
  readonly from: number | null;
}

const SECOND_MS = 1000;

/** Marks a kept checkpoint of a run that has ended as its best, as the run itself does while it goes on. */
export async function promoteCheckpoint({
  run,
  request,
  from,
}: PromoteCheckpointInput): Promise<ControlReceipt> {
  try {
    requirePromotionRequest(request);
    const { checkpoint: step, by, reason } = request;
    await promoteStep(run, request);
    const change = { control: 'promote', step, from, to: step };
    const now = new Date();
    // After every write that the run made.
    const write = Math.floor(now.getTime() / SECOND_MS);
    await bookkeeping.recordControl({ run, write, row: { at: now.toISOString(), by, reason, ...change } });
    return change;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}
