import { Context } from '@temporalio/activity';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, TemporalFailure, WorkflowNotFoundError } from '@temporalio/common';
import type { CellFinding, MatrixCell } from '../core/backfill';
import type { BenchmarkSummary } from '../core/benchmark-run';
import { writeBackfillRecord } from '../evaluation/backfill/backfill-record';
import type { ColumnRequest } from '../evaluation/backfill/find-cells';
import { findCells } from '../evaluation/backfill/find-cells';
import type { PlanDependencies } from '../evaluation/runner/plan-benchmark';
import { currentWorkflow, withHeartbeat } from './activity-context';

interface RecordInput {
  readonly store: string;
  readonly name: string;
  readonly cells: readonly MatrixCell[];
}

export interface BackfillDependencies extends PlanDependencies {
  /** Anybody who reaches the server can start a backfill; refuses what no command asks for. */
  readonly checkColumn: (column: ColumnRequest) => void;
}

/** Backfills, for workers with the role `sampling`: identities need the data. */
export function createBackfillActivities(dependencies: BackfillDependencies) {
  return {
    /** Reads only; repeated, it finds what is there then. */
    async findCells(column: ColumnRequest): Promise<CellFinding[]> {
      dependencies.checkColumn(column);
      const { workflowId } = currentWorkflow();
      return withHeartbeat((run) => findCells(dependencies, column, { ...run, workflowId }));
    },

    /** Waits for a benchmark that somebody else started. null where the server has forgotten it. */
    async awaitBenchmark({ workflowId }: { readonly workflowId: string }): Promise<BenchmarkSummary | null> {
      return withHeartbeat(() => resultOf(workflowId));
    },

    /** Written whole, so that repeating it changes nothing. */
    async recordBackfill({ store, name, cells }: RecordInput): Promise<void> {
      await writeBackfillRecord(store, { name, at: dependencies.now().toISOString(), cells });
    },
  };
}

export type BackfillActivities = ReturnType<typeof createBackfillActivities>;

type Benchmark = () => Promise<BenchmarkSummary>;

async function resultOf(workflowId: string): Promise<BenchmarkSummary | null> {
  const { client, cancellationSignal } = Context.current();
  try {
    return await client.withAbortSignal(cancellationSignal, () =>
      client.workflow.getHandle<Benchmark>(workflowId).result(),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    if (error instanceof WorkflowFailedError) throw finalFailure(error);
    throw error;
  }
}

function finalFailure(error: WorkflowFailedError): ApplicationFailure {
  let cause: Error | undefined = error.cause;
  while (cause instanceof TemporalFailure && !(cause instanceof ApplicationFailure) && cause.cause)
    cause = cause.cause;
  return ApplicationFailure.nonRetryable(cause?.message ?? error.message);
}
