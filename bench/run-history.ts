import type { WorkflowHandle } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';

/** What a run left at the server. */
export interface RunHistory {
  readonly events: number;
  readonly bytes: number;
  readonly segments: number;
  /** When the server heard of each segment's end, in milliseconds since 1970. */
  readonly segmentEndsMs: readonly number[];
  /** From the server hearing of a segment's end to a worker taking the next one. */
  readonly handoversMs: readonly number[];
}

type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

export async function readRunHistory(handle: WorkflowHandle): Promise<RunHistory> {
  const [{ events }, description] = await Promise.all([handle.fetchHistory(), handle.describe()]);
  const { starts, ends } = segmentTimes(events ?? []);
  return {
    events: events?.length ?? 0,
    bytes: description.historySize ?? Number.NaN,
    segments: starts.length,
    segmentEndsMs: ends,
    handoversMs: starts.slice(1).map((start, index) => start - (ends[index] ?? Number.NaN)),
  };
}

function segmentTimes(events: HistoryEvents): { starts: number[]; ends: number[] } {
  const segments = new Set(
    events
      .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'runSegment')
      .map(({ eventId }) => String(eventId)),
  );
  const timesOf = (key: 'activityTaskStartedEventAttributes' | 'activityTaskCompletedEventAttributes') =>
    events
      .filter((event) => segments.has(String(event[key]?.scheduledEventId)))
      .map(({ eventTime }) => tsToMs(eventTime));
  return {
    starts: timesOf('activityTaskStartedEventAttributes'),
    ends: timesOf('activityTaskCompletedEventAttributes'),
  };
}

/** Tasks of the workflow that a worker took and never answered, since then: what it was and after how many seconds. */
export async function timeoutsSince(handle: WorkflowHandle, since: Date): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  const all = events ?? [];
  const timeOf = (eventId: unknown): number =>
    tsToMs(all.find((event) => String(event.eventId) === String(eventId))?.eventTime);
  return all.flatMap(({ eventTime, workflowTaskTimedOutEventAttributes: timedOut }) => {
    if (!timedOut || tsToMs(eventTime) < since.getTime()) return [];
    const from =
      String(timedOut.startedEventId) === '0' ? timedOut.scheduledEventId : timedOut.startedEventId;
    const kind = from === timedOut.startedEventId ? 'taken' : 'waiting';
    return [`workflow task ${kind} for ${((tsToMs(eventTime) - timeOf(from)) / 1000).toFixed(1)} s`];
  });
}
