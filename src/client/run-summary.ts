import type { TrainingKind } from '../config/training-config';
import type { RunState, RunStatus, ScoreRow } from '../core/run';
import type { UnreadableState } from '../stores/run-state';

/** What can be trained, as a config's `kind` says it. */
export const RUN_KINDS = ['sft', 'rl'] as const satisfies readonly TrainingKind[];

export const RUN_SORTS = ['started', 'score', 'step'] as const;
export type RunSort = (typeof RUN_SORTS)[number];

/** The score a run is known by: the newest of a metric that rises as the model gets better, else the newest. */
export type RunScore = Pick<
  ScoreRow,
  'step' | 'evaluator' | 'metric' | 'key' | 'value' | 'stderr' | 'n' | 'higherIsBetter'
>;

/** A line of `runs list`. */
export interface RunSummary extends Pick<
  RunState,
  'run' | 'kind' | 'model' | 'status' | 'step' | 'totalSteps' | 'startedAt' | 'closedAt'
> {
  readonly score: RunScore | null;
}

export interface RunFilter {
  readonly status?: RunStatus;
  readonly kind?: string;
  readonly model?: string;
  /** Temporal's list filter over `EverstepKind`, `EverstepScore` and so on. */
  readonly where?: string;
  /** `started`: the newest first (default); `score`: the best first; `step`: the furthest first. */
  readonly sort?: RunSort;
  /** So many at most; default all. */
  readonly limit?: number;
}

/** Runs in order, as many as were asked for. */
export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** How many there are, with those beyond the limit. */
  readonly matchCount: number;
  /** Who answered `where`. */
  readonly answeredBy: 'server' | 'store';
  /** What a person should know of the answer, with the remedy. */
  readonly note: string | null;
  /** Runs that have not ended and of which no server tells: they are shown as the store last saw them. */
  readonly asStored: readonly string[];
  /** Runs of the store whose state cannot be read, whatever was asked for: nobody knows whether they match. */
  readonly unreadable: readonly UnreadableState[];
}
