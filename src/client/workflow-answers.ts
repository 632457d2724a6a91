import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { QueryDefinition } from '@temporalio/common';
import { z } from 'zod';
import type { RunStatus } from '../core/run';
import { waitsOfRun } from './pending-work';

/** A workflow whose workers are away does not answer: the store is asked instead after this long. */
export const ANSWER_LIMIT_MS = 2000;

export const workflowIdOf = (run: string): string => `train/${run}`;

/** What `memo` of a run's workflow says from the moment it is started, before anything is in the store. */
export const RunMemo = z.object({ kind: z.string(), model: z.string(), engine: z.string() });
export type RunMemo = z.infer<typeof RunMemo>;

/** The running workflow's answer; null when it does not answer in time, for whatever reason. */
export async function queryRun<Answer>(
  client: Client,
  run: string,
  query: QueryDefinition<Answer>,
): Promise<Answer | null> {
  try {
    return await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflow.getHandle(workflowIdOf(run)).query(query),
    );
  } catch {
    return null;
  }
}

export interface WorkflowFacts {
  readonly isOpen: boolean;
  /** How it ended; `running` while it is open. */
  readonly status: RunStatus;
  readonly startedAt: string;
  readonly closedAt: string | null;
  readonly memo: RunMemo | null;
  /** What evaluations and rollouts wait for. */
  readonly waits: readonly string[];
}

/** What the server itself knows; `missing` when it has no such workflow, null when it does not answer. */
export async function describeRun(client: Client, run: string): Promise<WorkflowFacts | 'missing' | null> {
  try {
    const description = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflow.getHandle(workflowIdOf(run)).describe(),
    );
    return factsOf(description);
  } catch (error) {
    return error instanceof WorkflowNotFoundError ? 'missing' : null;
  }
}

const ENDINGS: Readonly<Record<string, RunStatus>> = {
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
  TERMINATED: 'cancelled',
  FAILED: 'failed',
  TIMED_OUT: 'failed',
};

function factsOf(description: WorkflowExecutionDescription): WorkflowFacts {
  const ending = ENDINGS[description.status.name];
  return {
    isOpen: ending === undefined,
    status: ending ?? 'running',
    startedAt: description.startTime.toISOString(),
    closedAt: description.closeTime?.toISOString() ?? null,
    memo: RunMemo.safeParse(description.memo).data ?? null,
    waits: waitsOfRun(description.raw.pendingActivities ?? []),
  };
}

export interface RunFailure {
  readonly message: string;
  /** An ErrorCode of the domain where it is one. */
  readonly code: string | null;
}

/** Why a workflow failed, in the words it failed with. */
export async function failureOf(client: Client, run: string): Promise<RunFailure | null> {
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflow.getHandle(workflowIdOf(run)).result(),
    );
    return null;
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) return null;
    const { cause } = error;
    const code = cause instanceof ApplicationFailure ? (cause.type ?? null) : null;
    return { message: cause?.message ?? error.message, code };
  }
}
