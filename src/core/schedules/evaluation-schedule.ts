/**
 * Evaluation schedules as data. An evaluation *at step s* measures the weights after s steps; step 0 is the
 * model before training.
 */
export interface EvaluationSchedule {
  readonly name: string;
  readonly every?: { readonly steps: number } | { readonly tokens: number } | { readonly seconds: number };
  readonly at?: readonly number[];
  readonly offset: number;
  readonly atStart: boolean;
  readonly atEnd: boolean;
  readonly mode: 'background' | 'blocking';
  /** Names of evaluators; their options are in the run's folder. */
  readonly evaluators: readonly string[];
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
  if (step === totalSteps) return schedule.atEnd;
  return schedule.every !== undefined && hasPassed(schedule.every, schedule.offset, facts);
}

function hasPassed(
  every: NonNullable<EvaluationSchedule['every']>,
  offset: number,
  facts: StepFacts,
): boolean {
  if ('steps' in every) return facts.step >= offset && (facts.step - offset) % every.steps === 0;
  if ('tokens' in every) {
    return Math.floor(facts.tokensAfter / every.tokens) > Math.floor(facts.tokensBefore / every.tokens);
  }
  return false;
}
