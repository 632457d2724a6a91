/** When a run saves state that resumes training. 0 disables a rhythm; step 0 and the last step are always saved. */
export interface CheckpointSchedule {
  readonly saveEvery: number;
  readonly ttlSeconds: number | null;
  readonly rollingSaveEvery: number;
  readonly rollingTtlSeconds: number;
}

export interface DueCheckpoint {
  readonly name: string;
  /** Outside any rhythm: `reached` where a run was ended, `held` where it was paused. */
  readonly kind: 'first' | 'periodic' | 'rolling' | 'final' | 'reached' | 'held';
  /** Seconds after which the service may delete it; null keeps it. */
  readonly ttlSeconds: number | null;
}

/** The checkpoint due after `step`, or null. Names depend on the step alone, never on time. */
export function checkpointDueAt(
  schedule: CheckpointSchedule,
  step: number,
  totalSteps: number,
): DueCheckpoint | null {
  if (step === totalSteps) return { name: 'final', kind: 'final', ttlSeconds: null };
  const name = stepName(step);
  if (step === 0) return { name, kind: 'first', ttlSeconds: schedule.ttlSeconds };
  if (isMultiple(step, schedule.saveEvery))
    return { name, kind: 'periodic', ttlSeconds: schedule.ttlSeconds };
  if (isMultiple(step, schedule.rollingSaveEvery)) {
    return { name, kind: 'rolling', ttlSeconds: schedule.rollingTtlSeconds };
  }
  return null;
}

/** Whether a run names its saves so. */
export function isOwnCheckpointName(name: string): boolean {
  return name === 'final' || /^\d{6,}(-held|-asked-\d+|-policy-\d+)?$/.test(name);
}

/** Six digits, as the field writes them. */
export function stepName(step: number): string {
  return String(step).padStart(6, '0');
}

function isMultiple(step: number, every: number): boolean {
  return every > 0 && step % every === 0;
}
