import type { ControlRow } from '../controls';
import { fieldsOf } from '../controls';
import type { EvaluationSchedule } from '../schedules/evaluation-schedule';
import type { Budget } from './budget';
import { withChange } from './changes-by-step';
import type { RateChange } from './learning-rate';
import type { Pause } from './pause';
import type { ScheduleChange, ShownSchedule } from './schedule-change';
import { scheduleAsShown, schedulesAt } from './schedule-change';

/** What people and gates have changed of a run, as far as it still holds. */
export interface CarriedChanges {
  readonly rates: readonly RateChange[];
  readonly scheduleChanges: readonly ScheduleChange[];
  readonly budget: Budget | null;
  readonly stop: { readonly step: number; readonly reason: string } | null;
  readonly pause: Pause | null;
}

interface Planned {
  readonly totalSteps: number;
  readonly evaluations: readonly EvaluationSchedule[];
}

/**
 * The changes that a run's `controls.jsonl` tells of, made one after another. Rows stand there in the order they were
 * made; what was refused left none.
 */
export function carriedChanges(rows: readonly ControlRow[], planned: Planned): CarriedChanges {
  return rows.reduce<CarriedChanges>((before, row) => ({ ...before, ...changeOf(row, before, planned) }), {
    rates: [],
    scheduleChanges: [],
    budget: null,
    stop: null,
    pause: null,
  });
}

function changeOf(
  row: ControlRow,
  before: CarriedChanges,
  { totalSteps, evaluations }: Planned,
): Partial<CarriedChanges> {
  const { control, step, to, by, reason } = row;
  if (control === 'setLearningRate' && typeof to === 'number')
    return { rates: withChange(before.rates, { step, peak: to }) };
  if (control === 'setEvalSchedule') return { scheduleChanges: changedSchedules(row, before, evaluations) };
  // oxlint-disable-next-line typescript/consistent-type-assertions -- as `budgetChange` wrote it
  if (control === 'setBudget') return { budget: to as Budget };
  if (control === 'resume') return { pause: null };
  if (control === 'pause') return { pause: { ...pauseOf(to), step, by, reason } };
  if (control === 'stop') return stopped(row, before, totalSteps);
  return {};
}

/** A stop as early as possible ends a pause; a later one leaves it. */
function stopped(
  { step, reason }: ControlRow,
  { pause }: CarriedChanges,
  totalSteps: number,
): Partial<CarriedChanges> {
  const endsPause = pause !== null && step <= pause.step + 1;
  return { stop: step < totalSteps ? { step, reason } : null, ...(endsPause && { pause: null }) };
}

function pauseOf(to: unknown): Pick<Pause, 'seconds' | 'then'> {
  const { seconds, then } = fieldsOf(to);
  return {
    seconds: typeof seconds === 'number' ? seconds : null,
    then: then === 'stop' ? 'stop' : 'resume',
  };
}

function changedSchedules(
  { step, to }: ControlRow,
  { scheduleChanges }: CarriedChanges,
  initial: readonly EvaluationSchedule[],
): readonly ScheduleChange[] {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- as `scheduleChange` wrote it
  const shown = to as ShownSchedule;
  const evaluations = schedulesAt(initial, scheduleChanges, step).map((schedule) =>
    schedule.name === shown.schedule ? scheduleAsShown(schedule, shown, initial) : schedule,
  );
  return withChange(scheduleChanges, { step, evaluations });
}
