import type { EvaluationCell, RunStatus, ScoreRow } from '../../core/run';
import type { ModelIncarnation, TimedStep, TrainingPlan, TrainingPosition } from '../../core/training-plan';

/** An evaluation under way: a child workflow that tells this run when its cells are final. */
export interface PendingEvaluation {
  /** Rises when the child had to be started again. */
  readonly attempt: number;
  readonly step: number;
  readonly workflowId: string;
  readonly samplerPath: string;
  readonly isCheckpoint: boolean;
  readonly evaluators: readonly string[];
  readonly schedules: readonly string[];
  readonly isBlocking: boolean;
}

/**
 * What a training run remembers across continue-as-new: typed, versioned and bounded.
 *
 * `cells` and `recentScores` hold the newest entries for queries; the store has all of them.
 */
export interface TrainingState {
  readonly version: 1;
  plan: TrainingPlan;
  status: RunStatus;
  waitingFor: { what: string; since: string } | null;
  model: ModelIncarnation | null;
  /** The life of the model that was lost, until the next one is open. */
  lost: ModelIncarnation | null;
  position: TrainingPosition;
  /** Rises with every activity that writes the run's journals. */
  segment: number;
  stepsPerSecond: number | null;
  rewinds: number;
  stepsReplayed: number;
  /** What had to be passed over when the model was opened, newest last. */
  remarks?: string[];
  /** Evaluations up to this step were started; a rewind does not start them again. */
  evaluatedThrough: number;
  pending: PendingEvaluation[];
  cells: EvaluationCell[];
  recentScores: ScoreRow[];
  scoreWrites: number;
  /** Milliseconds since the epoch at which each schedule by seconds is due next. */
  timedDueAt: Record<string, number>;
  timedSteps: TimedStep[];
  /** Models the run had before the one it has, the newest last. */
  lives?: string[];
  /** Requests of steps up to this one may be at the service; never falls, so that a changed plan spares what was shown. */
  sentThrough?: number;
  stop?: RequestedStop | null;
  /** Why the run is being cancelled, where somebody said so. */
  cancelReason?: string;
  controlWrites?: number;
}

interface RequestedStop {
  readonly step: number;
  readonly reason: string;
}

const KEPT_CELLS = 200;
const KEPT_SCORES = 200;
const KEPT_REMARKS = 20;

const START: TrainingPosition = {
  collectedThrough: -1,
  submittedThrough: -1,
  nextSeqId: 1,
  inFlight: [],
  tokens: 0,
};

export function initialState(plan: TrainingPlan): TrainingState {
  return {
    version: 1,
    plan,
    status: 'running',
    waitingFor: null,
    model: null,
    lost: null,
    position: START,
    segment: 0,
    stepsPerSecond: null,
    rewinds: 0,
    stepsReplayed: 0,
    evaluatedThrough: -1,
    pending: [],
    cells: [],
    recentScores: [],
    scoreWrites: 0,
    timedDueAt: {},
    timedSteps: [],
  };
}

const KEPT_LIVES = 100;

/** A model that is given up may have left saves nobody heard of; they are looked for when the run closes. */
export function rememberLife(state: TrainingState, modelId: string): void {
  state.lives = [...(state.lives ?? []), modelId].slice(-KEPT_LIVES);
}

/** The step the run ends after: its plan's last one, or the one it was asked to stop at. */
export function lastStepOf({ plan, stop }: TrainingState): number {
  return stop?.step ?? plan.totalSteps;
}

/** Steps that may be at the service; a change takes effect after them. */
export function sentThroughOf({ sentThrough, position }: TrainingState): number {
  return Math.max(sentThrough ?? -1, position.submittedThrough);
}

export function rememberCells(state: TrainingState, cells: readonly EvaluationCell[]): void {
  const isNew = (old: EvaluationCell) =>
    !cells.some((cell) => cell.step === old.step && cell.evaluator === old.evaluator);
  state.cells = [...state.cells.filter(isNew), ...cells].slice(-KEPT_CELLS);
}

export function rememberRemarks(state: TrainingState, remarks: readonly string[]): void {
  if (remarks.length > 0) state.remarks = [...(state.remarks ?? []), ...remarks].slice(-KEPT_REMARKS);
}

export function rememberScores(state: TrainingState, scores: readonly ScoreRow[]): void {
  state.recentScores = [...state.recentScores, ...scores].slice(-KEPT_SCORES);
}
