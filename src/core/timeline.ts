import type { RunStatus } from './run';

/** One row of `events.jsonl`: what happened to a run besides its steps, saves, scores and changes. */
export interface RunEvent {
  readonly at: string;
  readonly kind:
    | 'opened'
    | 'ended'
    | 'continued'
    | 'waiting'
    | 'went on'
    | 'rewind'
    | 'released'
    | 'paused'
    | 'resumed'
    | 'worker lost'
    | 'budget'
    | 'evaluation'
    | 'gate'
    | 'remark'
    | 'reward alarm';
  /** Steps done when it happened. */
  readonly step: number;
  readonly text: string;
}

/** What ended a run that was continued later, as those know it who continue it. */
export interface EarlierEnd {
  readonly at: string;
  readonly text: string;
}

/** How a run ended, in the words of its timeline. */
export function endText({
  status,
  reason,
}: {
  readonly status: RunStatus;
  readonly reason?: string | undefined;
}): string {
  return reason === undefined ? status : `${status}: ${reason}`;
}

/**
 * Work that its first worker did not bring to an end is gone on with by another, or by the same one begun again.
 *
 * @param what what goes on, as in `training goes on after step 19`
 */
export function workerLost(what: string, attempt: number): string {
  return `a worker was gone or failed: ${what} on another worker, or on the same one begun again (attempt ${attempt})`;
}

/** One entry of a run's merged history. */
export interface TimelineEntry {
  readonly at: string;
  readonly kind: RunEvent['kind'] | 'started' | 'checkpoint' | 'control';
  readonly step: number;
  readonly text: string;
}
