import type { ControlRow } from '../../core/controls';
import type { Budget } from '../../core/controls/budget';
import type { RateChange } from '../../core/controls/learning-rate';
import type { Pause } from '../../core/controls/pause';
import type { ScheduleChange } from '../../core/controls/schedule-change';
import { schedulesAt } from '../../core/controls/schedule-change';
import type { GateMemory } from '../../core/gates/gate';
import type { EvaluationCell, RunStatus, ScoreRow } from '../../core/run';
import type { RunEvent } from '../../core/timeline';
import type {
  ModelIncarnation,
  StepTokens,
  TimedStep,
  TrainingPlan,
  TrainingPosition,
} from '../../core/training-plan';
import type { RolloutState } from './rollout-state';

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
  /** Which one of those that people asked for. */
  readonly request?: number;
  /** The one schedule whose evaluators are measured later than those of others at its step. */
  readonly late?: string;
  /** It waits for earlier ones of its schedule. */
  readonly isQueued?: boolean;
  /** Of its weights; absent where it began with its snapshot. */
  readonly lineage?: number;
  /** Schedules that still wait for evaluators in it; absent where all do. */
  readonly waitedForBy?: readonly string[];
  /** Schedules whose results are written already. */
  readonly told?: readonly string[];
  /** Evaluators whose results are written already, while others go on. */
  readonly recorded?: readonly string[];
  /** Evaluators left out, because an earlier evaluation of their schedule goes on. */
  readonly skipped?: readonly string[];
}

/** An evaluation somebody asked for that has not begun. */
export interface RequestedEvaluation {
  readonly request: number;
  readonly step: number;
  readonly evaluators: readonly string[];
  /** What it measures; null until the step is collected. */
  readonly snapshot: RequestedSnapshot | null;
}

export interface RequestedSnapshot {
  readonly samplerPath: string;
  readonly isCheckpoint: boolean;
  readonly lineage: number;
}

/** A pause and what became of it. */
export interface RunPause extends Pause {
  /** Milliseconds since the epoch at which the run stood still; null before. */
  readonly since: number | null;
  /** From when on the model is held open for nothing. */
  readonly heldSince: number | null;
  /** The state is saved in a checkpoint that does not expire. */
  readonly isSaved: boolean;
  /** Those who do the work are about to go: the model is let go of as soon as the run stands still. */
  readonly isHandOver?: true;
  /** What somebody had asked for, and what follows. */
  readonly after?: RunPause;
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
  pause?: RunPause | null;
  /** Milliseconds since the epoch at which the store was told that the run stands still; null while it goes on. */
  standingSince?: number | null;
  /** The model was let go of at a checkpoint; opening it again is no rewind. */
  isReleased?: boolean;
  rates?: RateChange[];
  scheduleChanges?: ScheduleChange[];
  /** Of runs that sample what they train on. */
  rollouts?: RolloutState;
  /** Weights that rollouts are being sampled from just now. */
  samplingFrom?: string;
  requests?: RequestedEvaluation[];
  requestCount?: number;
  /** The checkpoint somebody promoted last. */
  best?: { readonly step: number; readonly name: string };
  budget?: Budget;
  /** What gates compare with, by schedule. */
  gates?: Record<string, GateMemory>;
  /** Limits people were warned of. */
  budgetWarnings?: readonly string[];
  /** Tokens of steps that were sent and that a rewind trains again. */
  tokensOfRewinds?: number;
  /** The step that was asked for last and did not fit the budget. */
  unaffordable?: StepTokens;
  /** Milliseconds in which the run stood still, in pauses that are over. */
  pausedMs?: number;
  recentControls?: ControlRow[];
  recentEvents?: RunEvent[];
  /** Events the store has not heard of. */
  unsavedEvents?: RunEvent[];
}

interface RequestedStop {
  readonly step: number;
  readonly reason: string;
}

const KEPT_CELLS = 200;
const KEPT_SCORES = 200;
const KEPT_REMARKS = 20;
const KEPT_CONTROLS = 100;
const KEPT_EVENTS = 100;

const START: TrainingPosition = {
  collectedThrough: -1,
  submittedThrough: -1,
  nextSeqId: 1,
  inFlight: [],
  tokens: 0,
  tokensSubmitted: 0,
};

/** `started` are the remarks of whoever started the run. */
export function initialState(plan: TrainingPlan, started: readonly string[] = []): TrainingState {
  const remarks = [...started, ...(plan.remarks ?? [])];
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
    ...(plan.budget && { budget: plan.budget }),
    ...(remarks.length > 0 && { remarks }),
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

/** Whether the run stands still because somebody asked. */
export function isPaused(state: TrainingState): boolean {
  const { pause, position } = state;
  const isReached = pause != null && position.collectedThrough >= pause.step;
  return isReached && position.collectedThrough < lastStepOf(state);
}

/** What people are told: a run that stands still is paused, whatever it waited for before. */
export function shownStatus(state: TrainingState): RunStatus {
  const isOpen = state.status === 'running' || state.status === 'waiting';
  return isOpen && isPaused(state) ? 'paused' : state.status;
}

/** The schedules as they are, or were, at a step. */
export function schedulesOf({ plan, scheduleChanges }: TrainingState, step: number) {
  return schedulesAt(plan.evaluations, scheduleChanges ?? [], step);
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
  if (remarks.length === 0) return;
  const others = (state.remarks ?? []).filter((text) => !remarks.includes(text));
  state.remarks = [...others, ...remarks].slice(-KEPT_REMARKS);
}

/** Remarks that are given again and again: each is remembered once, and stands in the timeline, with the step it was first given at. */
export function rememberOnce(state: TrainingState, remarks: readonly string[], step: number): void {
  for (const remark of remarks) {
    if (state.remarks?.some((known) => known.startsWith(remark))) continue;
    const told = `${remark} First so at step ${step}.`;
    rememberRemarks(state, [told]);
    rememberEvent(state, 'remark', told);
  }
}

export function rememberScores(state: TrainingState, scores: readonly ScoreRow[]): void {
  state.recentScores = [...state.recentScores, ...scores].slice(-KEPT_SCORES);
}

export function rememberControl(state: TrainingState, row: ControlRow): void {
  state.recentControls = [...(state.recentControls ?? []), row].slice(-KEPT_CONTROLS);
}

/** Kept for queries, and until the store has heard of it. */
export function rememberEvent(state: TrainingState, kind: RunEvent['kind'], text: string): void {
  const step = Math.max(0, state.position.collectedThrough);
  const event = { at: new Date().toISOString(), kind, step, text };
  state.recentEvents = [...(state.recentEvents ?? []), event].slice(-KEPT_EVENTS);
  state.unsavedEvents = [...(state.unsavedEvents ?? []), event].slice(-KEPT_EVENTS);
}

/** The store has what it was given. */
export function forgetEvents(state: TrainingState, saved: readonly RunEvent[]): void {
  state.unsavedEvents = (state.unsavedEvents ?? []).filter((event) => !saved.includes(event));
}
