import { defineQuery } from '@temporalio/workflow';
import type { BackfillCell, BackfillRequest, BackfillState } from '../core/backfill';

/** The workflow id is `backfill/<name>`. */
export interface BackfillInput {
  readonly request: BackfillRequest;
  /** The server knows our search attributes. */
  readonly useSearchAttributes?: true;
  /** What an earlier execution of this workflow found and did. */
  readonly cells?: readonly BackfillCell[];
  /** Events after which it continues as new; default 2,000. */
  readonly maxHistoryEvents?: number;
}

export const backfillQuery = defineQuery<BackfillState>('backfill');
