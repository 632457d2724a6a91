import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { QueryDefinition } from '@temporalio/common';
import { z } from 'zod';
import type { LiveStatus, RunStatus } from '../core/run';
import { trainingWorkflowId } from '../core/training-workflow-id';
import { openEvaluations } from './open-evaluations';
import type { PendingActivity } from './pending-work';
import { failingTask, lastHeard, placeWait, waitsOfRun } from './pending-work';
import type { SilentEvaluator } from './silent-evaluators';
import { silentEvaluators } from './silent-evaluators';
import { timeoutWords } from './timeout-words';

/** A workflow whose workers are away does not answer: the store is asked instead after this long. */
export const ANSWER_LIMIT_MS = 2000;

export const workflowIdOf = trainingWorkflowId;

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
  /** When a worker was heard of last in any of its work; null where none has begun any. */
  readonly heardAt?: string | null;
  /** What evaluations and rollouts wait for. */
  readonly waits: readonly string[];
  /** Evaluators at work that have said nothing new for long. */
  readonly silentEvaluators?: readonly SilentEvaluator[];
  /** Set where workers have it and fail. */
  readonly taskFailure?: string | null;
  /** Set where no worker has taken the run's own work for some seconds. */
  readonly placeWait?: LiveStatus['waitingFor'];
}

/** Evaluations under way that are asked what they wait for. */
const MOST_EVALUATIONS = 8;

/** What the server itself knows; `missing` when it has no such workflow, null when it does not answer. */
export async function describeRun(client: Client, run: string): Promise<WorkflowFacts | 'missing' | null> {
  try {
    const description = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflow.getHandle(workflowIdOf(run)).describe(),
    );
    const children = await pendingOfEvaluations(client, run, description);
    return factsOf(description, [...(description.raw.pendingActivities ?? []), ...children]);
  } catch (error) {
    return error instanceof WorkflowNotFoundError ? 'missing' : null;
  }
}

/** Evaluations are workflows of their own. */
async function pendingOfEvaluations(
  client: Client,
  run: string,
  description: WorkflowExecutionDescription,
): Promise<PendingActivity[]> {
  const ids = await openEvaluations(client, run, description);
  const found = await Promise.all(
    ids.slice(0, MOST_EVALUATIONS).map(async (id) => {
      try {
        const described = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
          client.workflow.getHandle(id).describe(),
        );
        return described.raw.pendingActivities ?? [];
      } catch {
        // What a run waits for is told where it can be told; nothing depends on it.
        return [];
      }
    }),
  );
  return found.flat();
}

const ENDINGS: Readonly<Record<string, RunStatus>> = {
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
  TERMINATED: 'cancelled',
  FAILED: 'failed',
  TIMED_OUT: 'failed',
};

function factsOf(
  description: WorkflowExecutionDescription,
  pending: readonly PendingActivity[],
): WorkflowFacts {
  const now = Date.now();
  const ending = ENDINGS[description.status.name];
  return {
    isOpen: ending === undefined,
    status: ending ?? 'running',
    startedAt: description.startTime.toISOString(),
    closedAt: description.closeTime?.toISOString() ?? null,
    memo: RunMemo.safeParse(description.memo).data ?? null,
    heardAt: lastHeard(pending),
    waits: waitsOfRun(pending, now),
    silentEvaluators: silentEvaluators(pending, now),
    taskFailure: failingTask(description.raw.pendingWorkflowTask),
    placeWait: placeWait(pending, now),
  };
}

export interface RunFailure {
  readonly message: string;
  /** An ErrorCode of the domain where it is one. */
  readonly code: string | null;
}

/** Why a workflow failed, in the words it failed with. */
export async function failureOf(client: Client, run: string): Promise<RunFailure | null> {
  const cause = await causeOfEnd(client, run);
  if (cause === null) return null;
  const code = cause instanceof ApplicationFailure ? (cause.type ?? null) : null;
  return { message: timeoutWords(cause) ?? cause.message, code };
}

/** How a workflow ended, for the timeline of a run that could not write it itself. */
export async function endingOf(client: Client, run: string): Promise<string> {
  const cause = await causeOfEnd(client, run);
  if (cause === null) return 'cut off: its workflow was closed before it could write how it ended';
  const message = timeoutWords(cause) ?? cause.message;
  if (cause instanceof TerminatedFailure) return `terminated: ${message}`;
  if (cause instanceof CancelledFailure) return `cancelled: ${message}`;
  return cause instanceof TimeoutFailure ? `timed out: ${message}` : `failed: ${message}`;
}

/** null where it did not fail, or the server does not say. */
async function causeOfEnd(client: Client, run: string): Promise<Error | null> {
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflow.getHandle(workflowIdOf(run)).result(),
    );
    return null;
  } catch (error) {
    return error instanceof WorkflowFailedError ? (error.cause ?? error) : null;
  }
}
