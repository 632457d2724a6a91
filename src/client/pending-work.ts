import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';

export type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

const RUNNING = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;
const Told = z.object({ waiting: z.string() });

/** What one pending activity waits for, as its attempts say; null where nothing is known to keep it. */
export function waitOf(activity: PendingActivity): string | null {
  const failure = activity.lastFailure?.message || null;
  const told = toldReason(activity);
  // What was told before the attempt failed says less than the failure.
  return activity.state === RUNNING ? (told ?? failure) : (failure ?? told);
}

/** How work of a run is called that may wait for others than the training service. */
const RUN_WORK: Readonly<Record<string, string>> = {
  evaluateCell: 'an evaluation waits',
  sampleRollouts: 'rollouts wait',
};

/** What evaluations and rollouts of a run wait for while the run itself goes on, each said once. */
export function waitsOfRun(pending: readonly PendingActivity[]): string[] {
  const waits = pending.flatMap((activity) => {
    const work = RUN_WORK[activity.activityType?.name ?? ''];
    const reason = work === undefined ? null : workReason(activity);
    return reason === null ? [] : [`${work}: ${reason}`];
  });
  return [...new Set(waits)];
}

/** That a worker died says nothing of the attempt after it. */
function workReason(activity: PendingActivity): string | null {
  return activity.lastFailure?.timeoutFailureInfo ? toldReason(activity) : waitOf(activity);
}

/** An attempt that stands still without failing says in its heartbeats what it waits for. */
function toldReason({ heartbeatDetails }: PendingActivity): string | null {
  const [payload] = heartbeatDetails?.payloads ?? [];
  const told = payload && Told.safeParse(defaultPayloadConverter.fromPayload(payload));
  return told?.data?.waiting ?? null;
}
