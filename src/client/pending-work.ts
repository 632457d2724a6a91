import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { largestOf } from '../core/extremes';
import { ownValue } from '../core/own-value';
import { PREPARATION_QUEUE, TASK_QUEUES } from '../core/task-queues';

export type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo;

const { PENDING_ACTIVITY_STATE_STARTED: RUNNING, PENDING_ACTIVITY_STATE_SCHEDULED: SCHEDULED } =
  temporal.api.enums.v1.PendingActivityState;
const { TIMEOUT_TYPE_START_TO_CLOSE: START_TO_CLOSE } = temporal.api.enums.v1.TimeoutType;
/** A worker with a free place takes work within a fraction of this. */
const SOON_MS = 3000;
const A_PLACE = 'a free place on a worker';
const Told = z.object({ waiting: z.string() });

/** What one pending activity waits for, as its attempts say; null where nothing is known to keep it. */
export function waitOf(activity: PendingActivity): string | null {
  const told = toldReason(activity);
  if (isAtWork(activity)) return told;
  // That a worker was lost says nothing of the attempt after it, nor what was told before of the time until then.
  if (timedOut(activity)) return activity.state === RUNNING ? null : anotherWorker(activity);
  const failure = activity.lastFailure?.message || null;
  // What was told before the attempt failed says less than the failure.
  return activity.state === RUNNING ? (told ?? failure) : (failure ?? told);
}

/** It has told how far it is since it began: an earlier attempt's failure is over. */
function isAtWork(activity: PendingActivity): boolean {
  const { lastStartedTime, lastHeartbeatTime } = activity;
  const isHeard = millisecondsOf(lastHeartbeatTime) > millisecondsOf(lastStartedTime);
  return isRunning(activity) && isHeard && hasToldProgress(activity);
}

export function isRunning({ state }: PendingActivity): boolean {
  return state === RUNNING;
}

/** A cell tells which one it is before it tells anything else. */
function hasToldProgress(activity: PendingActivity): boolean {
  const told = toldOf(activity);
  return told !== null && Object.keys(told).join() !== 'cell';
}

/** The server gave up waiting for a word, or the end, of the attempt before. */
function timedOut({ lastFailure }: PendingActivity): boolean {
  return Boolean(lastFailure?.timeoutFailureInfo);
}

/** Without Temporal's own words, which name neither what is wrong nor what to do. */
function lostWorker({ lastFailure }: PendingActivity): string {
  const isLate = lastFailure?.timeoutFailureInfo?.timeoutType === START_TO_CLOSE;
  const what = isLate ? 'did not end it within the time it may take' : 'is gone or hangs';
  return `another worker: the one that had the work ${what}`;
}

function anotherWorker(activity: PendingActivity): string {
  const attempt = activity.attempt ?? 1;
  // One worker may be lost by anything; those of attempt after attempt are lost by what they do.
  if (attempt > 2)
    return `${lostWorker(activity)} (attempt ${attempt} is next); what it runs, or what runs beside it, may end or block its worker, whose log says why (with \`dev\`, in \`.everstep/logs\`)`;
  return `${lostWorker(activity)}; \`npx everstep dev\` starts its own again; elsewhere, where no other takes it up, start one with \`npx everstep worker\``;
}

/** How work of a run is called that may wait for others than the training service. */
const RUN_WORK: Readonly<Record<string, string>> = {
  prepareRun: 'its preparation waits',
  continueRun: 'going on with it waits',
  evaluateCell: 'an evaluation waits',
  sampleRollouts: 'rollouts wait',
};

const TRAINING = `${TASK_QUEUES.training}); start another worker with --roles training, or give more places with --concurrency training=N`;
const PREPARATION = `${PREPARATION_QUEUE}): other runs are made ready first; start another worker with --roles workflows`;
/** Work of the run itself: the queue it waits in, and what a person can do. */
const OWN_WORK: Readonly<Record<string, string>> = {
  prepareRun: PREPARATION,
  continueRun: PREPARATION,
  openModel: TRAINING,
  runSegment: TRAINING,
  releaseModel: TRAINING,
};

/** That the run itself stands still because no worker has taken its work yet, and since when; null where it does not. */
export function placeWait(
  pending: readonly PendingActivity[],
  now: number,
): { readonly what: string; readonly since: string } | null {
  for (const activity of pending) {
    const queue = ownValue(OWN_WORK, activity.activityType?.name ?? '');
    const since = queuedSince(activity, now) ?? lostSince(activity, now);
    if (queue === undefined || since === null) continue;
    const what = `${timedOut(activity) ? lostWorker(activity) : A_PLACE} (${queue}`;
    return { what, since: new Date(since).toISOString() };
  }
  return null;
}

/** That nothing of a workflow goes on, because no worker has taken any of it yet; null where something does. */
export function placeWaitOfAll(pending: readonly PendingActivity[], now: number): string | null {
  const isQueued = pending.length > 0 && pending.every((activity) => queuedSince(activity, now) !== null);
  return isQueued ? A_PLACE : null;
}

/** When a worker was heard of last, of those that have begun work; null where none has. */
export function lastHeard(pending: readonly PendingActivity[]): string | null {
  const times = pending.flatMap(({ lastStartedTime, lastHeartbeatTime }) =>
    [lastStartedTime, lastHeartbeatTime].map(millisecondsOf),
  );
  const latest = largestOf(times);
  return latest > 0 ? new Date(latest).toISOString() : null;
}

function millisecondsOf(time: PendingActivity['scheduledTime']): number {
  return time ? Number(time.seconds ?? 0) * 1000 + (time.nanos ?? 0) / 1e6 : 0;
}

/** When work was scheduled of which no attempt was begun; null where one was, or where it was scheduled just now. */
function queuedSince(
  { state, attempt, lastFailure, scheduledTime }: PendingActivity,
  now: number,
): number | null {
  if (state !== SCHEDULED || lastFailure || (attempt ?? 1) > 1 || !scheduledTime) return null;
  const since = millisecondsOf(scheduledTime);
  return now - since < SOON_MS ? null : since;
}

/** Since when work whose worker was lost waits for another; null where it does not, or only just began to. */
function lostSince(activity: PendingActivity, now: number): number | null {
  const { state, lastAttemptCompleteTime: lost } = activity;
  if (state !== SCHEDULED || !timedOut(activity) || !lost) return null;
  const since = millisecondsOf(lost);
  return now - since < SOON_MS ? null : since;
}

/** What evaluations and rollouts of a run wait for while the run itself goes on, each said once. */
export function waitsOfRun(pending: readonly PendingActivity[], now: number): string[] {
  const waits = pending.flatMap((activity) => {
    const name = activity.activityType?.name ?? '';
    const work = ownValue(RUN_WORK, name);
    // That the run itself waits for a place is told as such.
    const place = Object.hasOwn(OWN_WORK, name) ? null : placeWaitOfAll([activity], now);
    const reason = work === undefined ? null : (waitOf(activity) ?? place);
    return reason === null ? [] : [`${work}: ${reason}`];
  });
  return [...new Set(waits)];
}

type PendingTask = temporal.api.workflow.v1.IPendingWorkflowTaskInfo | null | undefined;

/** A worker that dies or stops leaves one behind. */
const PASSING_TASK_FAILURES = 2;

/** What a workflow decides next is tried again for ever, in case a newer build mends its code; null where that does well. */
export function failingTask(task: PendingTask): string | null {
  const attempt = task?.attempt ?? 0;
  if (attempt <= PASSING_TASK_FAILURES) return null;
  return `the workflow was tried ${attempt - 1} times on the workers in vain: its code fails, as their log says then, or they get too little processor time`;
}

/** An attempt that stands still without failing says in its heartbeats what it waits for. */
function toldReason(activity: PendingActivity): string | null {
  return Told.safeParse(toldOf(activity)).data?.waiting ?? null;
}

/** null where it has told nothing yet. */
export function toldOf({ heartbeatDetails }: PendingActivity): object | null {
  const [payload] = heartbeatDetails?.payloads ?? [];
  const told: unknown = payload && defaultPayloadConverter.fromPayload(payload);
  return typeof told === 'object' ? told : null;
}
