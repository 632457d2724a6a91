import type { Budget, Spending } from './controls/budget';

/** What a run is and what can be asked of it. Plain JSON: it travels through workflow history, files and `--json`. */

export const RUN_STATUSES = [
  'running',
  'paused',
  'waiting',
  'completed',
  'stopped',
  'cancelled',
  'failed',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** One row of `metrics.jsonl`. `step` counts steps done: first row 1, last row `totalSteps`. */
export interface MetricsRow {
  readonly step: number;
  readonly [metric: string]: number | null;
}

/** One row of `timing.jsonl`: what depends on the clock and not on config and seed. */
export interface TimingRow {
  readonly step: number;
  readonly at: string;
  readonly [measure: string]: number | string | null;
}

/** One row of `scores.jsonl`. Identity: (step, schedule, evaluator, metric). */
export interface ScoreRow {
  readonly step: number;
  readonly schedule: string;
  readonly evaluator: string;
  readonly metric: string;
  /** The field's name, e.g. `test/nll`. */
  readonly key: string;
  readonly value: number | null;
  readonly stderr: number | null;
  readonly n: number;
  /** Independent parts of `n`, where several hang together, e.g. problems of which each has several rollouts. */
  readonly clusters?: number;
  readonly higherIsBetter: boolean | null;
  /** 95 % interval, where whoever measured it knows more of it than its standard error says. */
  readonly ci?: readonly [low: number, high: number];
  /** ISO time at which the result was final. */
  readonly at: string;
  /** What went wrong, where the evaluator failed; `metric` is then `error` and `value` null. */
  readonly error?: string;
  /** What a person should know of it. */
  readonly remark?: string;
  /** Hash of the examples it is of. Scores of which this or the grader differs cannot be compared. */
  readonly data?: string;
  /** Version of the grader and its judges; absent where nothing is graded. */
  readonly grader?: string;
}

/** One row of `checkpoints.jsonl`, readable by tinker-cookbook's loader (`batch` = next batch to run). */
export interface CheckpointRow {
  readonly name: string;
  readonly step: number;
  readonly batch: number;
  readonly epoch: number;
  readonly final: boolean;
  readonly state_path: string | null;
  readonly sampler_path: string | null;
  /** Tokens trained on so far, under the field's name. */
  readonly elapsed_tokens: number;
  readonly lineage: number;
  readonly incarnation: number;
  readonly rolling?: boolean;
  /** Optimizer updates done; absent where each step is one. */
  readonly updates?: number;
}

/** `state.json`: the run as last written to the store, which answers when the server is away. */
export interface RunState {
  readonly run: string;
  readonly kind: string;
  readonly model: string;
  readonly status: RunStatus;
  readonly step: number;
  readonly totalSteps: number;
  readonly startedAt: string;
  readonly closedAt: string | null;
  readonly workflowId: string;
  readonly engine: string;
  readonly lineage: number;
  readonly rewinds: number;
  readonly stepsReplayed: number;
  /** What had to be passed over when the model was opened, newest last, e.g. a checkpoint that is gone. */
  readonly remarks?: readonly string[];
  readonly finalWeightsDigest: string | null;
  /** Why it failed or was stopped. */
  readonly reason?: string;
}

/** `error` of a cell that was under way when its run was cancelled. */
export const ENDED_WITH_ITS_RUN = 'cancelled';

export function isEndedWithItsRun({ error }: Pick<ScoreRow, 'error'>): boolean {
  return error === ENDED_WITH_ITS_RUN;
}

export const CELL_OMISSIONS = ['skipped', 'cancelled'] as const;
/** Why a cell has no score although nothing failed; also the `metric` of its row in `scores.jsonl`. */
export type CellOmission = (typeof CELL_OMISSIONS)[number];

/** A cell is one evaluator at one step, scored exactly once whatever schedules asked for it. */
export interface EvaluationCell {
  readonly step: number;
  readonly evaluator: string;
  readonly schedules: readonly string[];
  /**
   * Skipped and cancelled ones made room for others of their schedule, or were cut off by the end of their run. `due`: it has no result, and whether it is under way nobody
   * knows, because the workflow does not answer.
   */
  readonly status: 'pending' | 'running' | 'due' | 'done' | 'failed' | CellOmission;
  readonly error?: string;
  /** Of one that is `due`: when the run was heard of last. */
  readonly heardAt?: string | null;
}

/** Result of one metric of one cell. */
export interface CellScore {
  readonly metric: string;
  readonly key: string;
  readonly value: number | null;
  readonly stderr: number | null;
  readonly n: number;
  /** Independent parts of `n`, where several hang together, e.g. problems of which each has several rollouts. */
  readonly clusters?: number;
  readonly higherIsBetter: boolean | null;
  /** 95 % interval, where whoever measured it knows more of it than its standard error says. */
  readonly ci?: readonly [low: number, high: number];
  /** What a person should know of it. */
  readonly remark?: string;
  /** Hash of the examples it is of. Scores of which this or the grader differs cannot be compared. */
  readonly data?: string;
  /** Version of the grader and its judges; absent where nothing is graded. */
  readonly grader?: string;
}

/** A pause somebody asked for. */
export interface LivePause {
  /** Last step trained before it. */
  readonly step: number;
  /** When the run stood still; null while it gets there. */
  readonly since: string | null;
  /** When it ends by itself; null where it does not, or has not begun. */
  readonly until: string | null;
  readonly then: 'resume' | 'stop';
  readonly by: string;
  readonly reason: string;
  /** Those who did the work went: it lasts a few seconds, or until somebody does the work again. */
  readonly isHandOver?: true;
}

/** Limits people set, what is used of them, and those that are near. */
export interface LiveBudget {
  readonly limits: Budget;
  readonly spent: Spending;
  readonly warnings: readonly string[];
}

/** A query's answer while the workflow runs. */
export interface LiveStatus {
  readonly run: string;
  readonly status: RunStatus;
  readonly step: number;
  readonly submittedThrough: number;
  readonly totalSteps: number;
  readonly epoch: number;
  /** The step it ends after because somebody asked; null where nobody did. */
  readonly stopAt?: number | null;
  readonly pause?: LivePause;
  /** Of a run with a pause: its state is saved, and the service holds no model for it. */
  readonly isLetGo?: boolean;
  readonly budget?: LiveBudget;
  /** The checkpoint somebody promoted. */
  readonly best?: { readonly step: number; readonly name: string };
  /** What the run waits for, and since when; null when it does not wait. */
  readonly waitingFor: { readonly what: string; readonly since: string } | null;
  /** Due or under way, each of one evaluator on one step. */
  readonly pendingEvaluations: number;
  readonly incarnation: number;
  readonly lineage: number;
  readonly rewinds: number;
  readonly stepsReplayed: number;
  /** What had to be passed over when the model was opened, newest last, e.g. a checkpoint that is gone. */
  readonly remarks?: readonly string[];
}
