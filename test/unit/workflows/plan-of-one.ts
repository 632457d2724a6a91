import type { TrainingPlan } from '../../../src/core/training-plan';

/** Of a run "one" that evaluates nothing. */
export const PLAN: TrainingPlan = {
  ...{ run: 'one', kind: 'sft', model: 'everstep/tiny', startedAt: '2026-01-01T00:00:00.000Z' },
  ...{ totalSteps: 10, stepsPerEpoch: 5, submitAhead: 2 },
  checkpoints: { saveEvery: 5, ttlSeconds: 60, rollingSaveEvery: 0, rollingTtlSeconds: 60 },
  evaluations: [],
};
