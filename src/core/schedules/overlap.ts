import type { EvaluationSchedule } from './evaluation-schedule';

/** An evaluation of a snapshot that is not final, as far as later ones have to know. */
export interface UnfinishedEvaluation {
  readonly step: number;
  /** Schedules that still wait for their evaluators in it. */
  readonly schedules: readonly string[];
  /** It has not begun. */
  readonly isQueued: boolean;
}

export interface DueEvaluation {
  readonly step: number;
  readonly isLastStep: boolean;
  /** Those that are due. */
  readonly schedules: readonly EvaluationSchedule[];
}

/** What becomes of the schedules that are due while earlier evaluations of theirs are not final. */
export interface Admission {
  /** Begin at once. */
  readonly runs: readonly EvaluationSchedule[];
  /** Begin when the earlier ones are final. */
  readonly waits: readonly EvaluationSchedule[];
  readonly skipped: readonly EvaluationSchedule[];
  /** Schedules whose earlier evaluations are ended for this one. */
  readonly cancels: readonly string[];
}

/** More are a schedule that its evaluators cannot follow; the run carries those that wait. */
export const MAX_QUEUED = 200;

/**
 * A schedule never overlaps itself without limit: `queue` (the default) has evaluations follow one another, `skip` leaves out
 * those that are due too soon, `cancel-older` ends the one under way. Steps 0 and the last are neither skipped nor cancelled.
 * Training that waits for scores waits for nothing else, so a blocking evaluation begins at once.
 *
 * Schedules of plans from before there was a choice have none, and all their evaluations begin at once.
 */
export function admitEvaluation(
  { step, isLastStep, schedules }: DueEvaluation,
  unfinished: readonly UnfinishedEvaluation[],
): Admission {
  const isProtected = step === 0 || isLastStep;
  const isFull = unfinished.filter(({ isQueued }) => isQueued).length >= MAX_QUEUED;
  const isBusy = ({ name, mode }: EvaluationSchedule) =>
    mode !== 'blocking' && unfinished.some((other) => other.schedules.includes(name));
  const busy = schedules.filter(isBusy);
  const isLeftOut = ({ overlap }: EvaluationSchedule) =>
    !isProtected && (overlap === 'skip' || (overlap === 'queue' && isFull));
  const skipped = busy.filter(isLeftOut);
  const waits = busy.filter((schedule) => schedule.overlap === 'queue' && !skipped.includes(schedule));
  return {
    runs: schedules.filter((schedule) => !skipped.includes(schedule) && !waits.includes(schedule)),
    waits,
    skipped,
    cancels: busy.filter(({ overlap }) => overlap === 'cancel-older').map(({ name }) => name),
  };
}
