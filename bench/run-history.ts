import type { WorkflowHandle } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';

/** What a run left at the server. */
export interface RunHistory {
  readonly events: number;
  readonly bytes: number;
  readonly segments: number;
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
    handoversMs: starts.slice(1).map((start, index) => start - (ends[index] ?? Number.NaN)),
  };
}

function segmentTimes(events: HistoryEvents): { starts: number[]; ends: number[] } {
  const segments = new Set<string>();
  const starts: number[] = [];
  const ends: number[] = [];
  for (const event of events) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const started = event.activityTaskStartedEventAttributes?.scheduledEventId;
    const completed = event.activityTaskCompletedEventAttributes?.scheduledEventId;
    if (scheduled?.activityType?.name === 'runSegment') segments.add(String(event.eventId));
    if (started && segments.has(String(started))) starts.push(tsToMs(event.eventTime));
    if (completed && segments.has(String(completed))) ends.push(tsToMs(event.eventTime));
  }
  return { starts, ends };
}
