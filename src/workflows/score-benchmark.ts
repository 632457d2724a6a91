import {
  ApplicationFailure,
  TemporalFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import { executeChild, ParentClosePolicy, proxyActivities } from '@temporalio/workflow';
import type { BackfillActivities } from '../activities/backfill-activities';
import type { BenchmarkSummary } from '../core/benchmark-run';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import type { RunBenchmarkInput } from './benchmark-contracts';
import { searchAttributesOfEval } from './eval-attributes';
import { runBenchmark } from './run-benchmark';

const { awaitBenchmark } = proxyActivities<BackfillActivities>({
  taskQueue: TASK_QUEUES.sampling,
  startToCloseTimeout: '365 days',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '20 seconds' },
});

const REASON_LENGTH = 500;

/**
 * A benchmark as a child that goes on whatever becomes of its parent, or the one of this name that is under way: an earlier
 * execution or another command started it. Cancelling the scope cancels the child.
 */
export async function scoreBenchmark(input: RunBenchmarkInput): Promise<BenchmarkSummary> {
  const { request, useSearchAttributes } = input;
  const { run, model } = request;
  const workflowId = `bench/${request.run}/${request.benchmark}`;
  for (;;) {
    try {
      return await executeChild(runBenchmark, {
        workflowId,
        args: [input],
        memo: { request },
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        ...(useSearchAttributes && {
          typedSearchAttributes: searchAttributesOfEval('benchmark', { run, model: model.model }),
        }),
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const summary = await awaitBenchmark({ workflowId });
    if (summary) return summary;
  }
}

/** The words a child or an activity failed with, out of what Temporal wraps them in. */
export function reasonOf(error: unknown): string {
  let cause = error;
  while (isWrapper(cause) && cause.cause) cause = cause.cause;
  return (cause instanceof Error ? cause.message : String(cause)).slice(0, REASON_LENGTH);
}

function isWrapper(error: unknown): error is TemporalFailure {
  return error instanceof TemporalFailure && !(error instanceof ApplicationFailure);
}
