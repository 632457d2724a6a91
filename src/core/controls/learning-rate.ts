import type { ControlBounds, SteppedRequest } from '../controls';
import {
  fieldsOf,
  isPositive,
  refused,
  requireAtStep,
  requireControlRequest,
  resolveFirstStep,
} from '../controls';
import { changeAt } from './changes-by-step';

/** Exactly one of `value` and `multiplier` is given; the other is null. */
export interface LearningRateRequest extends SteppedRequest {
  /** New peak, as `learningRate` is in the config: the schedule's shape goes on below it. */
  readonly value: number | null;
  /** Times the peak as it is at the step. */
  readonly multiplier: number | null;
}

/** The peak learning rate from a step on. */
export interface RateChange {
  readonly step: number;
  readonly peak: number;
}

export interface ResolvedRate {
  readonly step: number;
  readonly from: number;
  readonly to: number;
}

/** As in the config. */
export const MAX_LEARNING_RATE = 10;
export const MAX_MULTIPLIER = 1_000_000;
/** All of them travel with the run: a rewind trains every step with the rate it had. */
export const MAX_RATE_CHANGES = 200;

export function requireLearningRateRequest(request: unknown): void {
  requireControlRequest(request);
  requireAtStep(request, 1);
  const { value, multiplier } = fieldsOf(request);
  if ((value === null) === (multiplier === null)) {
    throw refused('Give "value" or "multiplier", a number, and null for the other.');
  }
  if (value !== null && !isPositive(value, MAX_LEARNING_RATE)) {
    throw refused(`"value" has to be a number above 0 and at most ${MAX_LEARNING_RATE}.`);
  }
  if (multiplier !== null && !isPositive(multiplier, MAX_MULTIPLIER)) {
    throw refused(`"multiplier" has to be a number above 0 and at most ${MAX_MULTIPLIER}.`);
  }
}

export interface RateSituation extends ControlBounds {
  readonly rates: readonly RateChange[];
  /** Peak of the config. */
  readonly initial: number;
}

export function resolveLearningRate(request: LearningRateRequest, situation: RateSituation): ResolvedRate {
  const { rates, initial } = situation;
  const step = resolveFirstStep(request, situation);
  const from = peakAt(rates, step) ?? initial;
  const to = request.value ?? from * (request.multiplier ?? 1);
  if (to <= 0 || to > MAX_LEARNING_RATE) {
    throw refused(
      `The learning rate would become ${to}; it has to be above 0 and at most ${MAX_LEARNING_RATE}.`,
    );
  }
  const isNew = !rates.some((change) => change.step === step);
  if (isNew && rates.length >= MAX_RATE_CHANGES) {
    throw refused(
      `The learning rate of this run was changed ${MAX_RATE_CHANGES} times; that is all it takes.`,
    );
  }
  return { step, from, to };
}

/** The peak that steps from `step` on have; null where nobody changed the config's. */
export function peakAt(rates: readonly RateChange[], step: number): number | null {
  return changeAt(rates, step)?.peak ?? null;
}
