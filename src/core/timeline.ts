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
    | 'budget'
    | 'evaluation'
    | 'gate'
    | 'reward alarm';
  /** Steps done when it happened. */
  readonly step: number;
  readonly text: string;
}

/** One entry of a run's merged history. */
export interface TimelineEntry {
  readonly at: string;
  readonly kind: RunEvent['kind'] | 'started' | 'checkpoint' | 'control' | 'ended';
  readonly step: number;
  readonly text: string;
}
