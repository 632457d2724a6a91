/** Learning-rate schedule as data. Fractions are of the peak rate. */
export type LearningRateSchedule =
  | { readonly type: 'constant'; readonly warmupSteps: number }
  | { readonly type: 'linear' | 'cosine'; readonly warmupSteps: number; readonly finalFraction: number };

export interface LearningRatePlan {
  readonly peak: number;
  readonly schedule: LearningRateSchedule;
  readonly totalSteps: number;
}

/**
 * Learning rate of step `step` (1…totalSteps).
 *
 * Without warm-up, step s has the multiplier the field gives to its 0-based step s-1:
 * linear 1 - (s-1)/total, cosine ½(1 + cos(π(s-1)/total)). With w warm-up steps, step s ≤ w has s/w
 * and the decay spans the remaining steps.
 */
export function learningRateAt({ peak, schedule, totalSteps }: LearningRatePlan, step: number): number {
  const { warmupSteps } = schedule;
  if (step <= warmupSteps) return (peak * step) / warmupSteps;
  if (schedule.type === 'constant') return peak;

  const done = (step - 1 - warmupSteps) / Math.max(1, totalSteps - warmupSteps);
  const remaining = schedule.type === 'linear' ? 1 - done : 0.5 * (1 + Math.cos(Math.PI * done));
  return peak * (schedule.finalFraction + (1 - schedule.finalFraction) * Math.max(0, remaining));
}
