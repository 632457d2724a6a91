/** One row of `events.jsonl`: what happened to a run besides its steps, saves, scores and changes. */
export interface RunEvent {
  readonly at: string;
  readonly kind:
    | 'opened'
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

/** Work that its first worker did not bring to an end is taken up by another, or by the same one begun again. */
export function workerLost(what: string, attempt: number): string {
  return `a worker was gone or failed: ${what} taken up again (attempt ${attempt})`;
}

/** One entry of a run's merged history. */
export interface TimelineEntry {
  readonly at: string;
  readonly kind: RunEvent['kind'] | 'started' | 'checkpoint' | 'control' | 'ended';
  readonly step: number;
  readonly text: string;
}
