import type { EvaluationGate } from '../gates/gate';

export const OVERLAPS = ['queue', 'skip', 'cancel-older'] as const;
/** What becomes of an evaluation that is due while an earlier one of its schedule goes on. */
type Overlap = (typeof OVERLAPS)[number];

/** What one evaluator may use at one step; it is ended where that is used up. */
export interface EvaluationBudget {
  /** Prompts and completions. */
  readonly tokens?: number;
  /** From when it is due to its result, whatever died meanwhile. */
  readonly seconds?: number;
  readonly dollars?: number;
}

/**
 * Evaluation schedules as data. An evaluation *at step s* measures the weights after s steps; step 0 is the
 * model before training.
 */
export interface EvaluationSchedule {
  readonly name: string;
  readonly every?: { readonly steps: number } | { readonly tokens: number } | { readonly seconds: number };
  readonly at?: readonly number[];
  /** Shifts the rhythm, in its own unit. */
  readonly offset: number;
  readonly atStart: boolean;
  readonly atEnd: boolean;
  readonly mode: 'background' | 'blocking';
  /** Names of evaluators; their options are in the run's folder. */
  readonly evaluators: readonly string[];
  /** Absent in plans from before there was a choice. */
  readonly overlap?: Overlap;
  readonly gate?: EvaluationGate;
  readonly budget?: EvaluationBudget;
}

export interface StepFacts {
  readonly step: number;
  readonly totalSteps: number;
  /** Tokens trained on before and after this step. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** Names of the schedules due at a step, by steps and tokens. Those by seconds are due when the workflow's clock says so. */
export function schedulesDueAt(schedules: readonly EvaluationSchedule[], facts: StepFacts): string[] {
  return schedules.filter((schedule) => isDue(schedule, facts)).map((schedule) => schedule.name);
}

function isDue(schedule: EvaluationSchedule, facts: StepFacts): boolean {
  const { step, totalSteps } = facts;
  if (schedule.at?.includes(step)) return true;
  if (step === 0) return schedule.atStart;
  if (step === totalSteps && schedule.atEnd) return true;
  return schedule.every !== undefined && hasPassed(schedule.every, schedule.offset, facts);
}

function hasPassed(
  every: NonNullable<EvaluationSchedule['every']>,
  offset: number,
  facts: StepFacts,
): boolean {
  if ('steps' in every) return facts.step >= offset && (facts.step - offset) % every.steps === 0;
  if ('tokens' in every) {
    return (
      passedCount(every.tokens, offset, facts.tokensAfter) >
      passedCount(every.tokens, offset, facts.tokensBefore)
    );
  }
  return false;
}

/** How often a count of tokens has come by. Without an offset the first time is after one period, not at 0. */
function passedCount(period: number, offset: number, count: number): number {
  return Math.max(-1, Math.floor((count - offset) / period));
}

/** Seconds from the start of a run to when a schedule by seconds is due first. */
export function firstDueSeconds(every: { readonly seconds: number }, offset: number): number {
  return offset > 0 ? offset : every.seconds;
}

/** Whether the checkpoint of a step has to be kept, because a gate may promote it. */
export function isPromotable(schedules: readonly EvaluationSchedule[], due: readonly string[]): boolean {
  return schedules.some(({ name, gate }) => gate?.promotes === true && due.includes(name));
}
