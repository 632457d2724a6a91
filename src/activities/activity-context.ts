import { Context } from '@temporalio/activity';

export interface ActivityRun {
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  /** Sent along with the next heartbeat. */
  readonly progress: (detail: unknown) => void;
}

const HEARTBEAT_MS = 1000;
const ATTEMPTS = 1_000_000;

/** Heartbeats, once a second unless told, while the work goes on, so that a dead worker is noticed although nothing is done yet. */
export async function withHeartbeat<Result>(
  work: (run: ActivityRun) => Promise<Result>,
  everyMs = HEARTBEAT_MS,
): Promise<Result> {
  const context = Context.current();
  let latest: unknown;
  const timer = setInterval(() => {
    context.heartbeat(latest);
  }, everyMs);
  try {
    return await work({
      signal: context.cancellationSignal,
      attempt: context.info.attempt,
      progress: (detail) => {
        latest = detail;
      },
    });
  } finally {
    clearInterval(timer);
  }
}

/** Orders all attempts of all writes of a run: a later write outranks every attempt of an earlier one. */
export function epochOf(write: number, attempt: number): number {
  return write * ATTEMPTS + attempt;
}

/** When this activity was scheduled, as ISO time: the same in all its attempts. */
export function scheduledAt(): string {
  return new Date(Context.current().info.scheduledTimestampMs).toISOString();
}

/** The workflow this activity works for. Ours are never started without one. */
export function currentWorkflow(): { readonly workflowId: string; readonly runId: string } {
  const { workflowExecution } = Context.current().info;
  if (!workflowExecution) throw new TypeError('This activity was started without a workflow.');
  return workflowExecution;
}
