import type { ControlRow } from '../controls';
import { fieldsOf } from '../controls';
import type { EvaluationSchedule } from '../schedules/evaluation-schedule';
import type { Budget } from './budget';
import { placeChange } from './changes-by-step';
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
  const lists: ChangeLists = { rates: [], scheduleChanges: [] };
  let others: OtherChanges = { budget: null, stop: null, pause: null };
  for (const row of rows) {
    listChange(row, lists, planned.evaluations);
    others = { ...others, ...changeOf(row, others, planned) };
  }
  return { ...lists, ...others };
}

/** They grow as the file is read. */
interface ChangeLists {
  readonly rates: RateChange[];
  readonly scheduleChanges: ScheduleChange[];
}

type OtherChanges = Pick<CarriedChanges, 'budget' | 'stop' | 'pause'>;

function listChange(row: ControlRow, lists: ChangeLists, initial: readonly EvaluationSchedule[]): void {
  const { control, step, to } = row;
  if (control === 'setLearningRate' && typeof to === 'number') placeChange(lists.rates, { step, peak: to });
  // The file may be somebody else's.
  if (control === 'setEvalSchedule' && Array.isArray(fieldsOf(to)['evaluators']))
    placeChange(lists.scheduleChanges, changedSchedules(row, lists.scheduleChanges, initial));
}

function changeOf(row: ControlRow, before: OtherChanges, { totalSteps }: Planned): Partial<OtherChanges> {
  const { control, step, to, by, reason } = row;
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
  { pause }: OtherChanges,
  totalSteps: number,
): Partial<OtherChanges> {
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
  changes: readonly ScheduleChange[],
  initial: readonly EvaluationSchedule[],
): ScheduleChange {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- as `scheduleChange` wrote it
  const shown = to as ShownSchedule;
  const evaluations = schedulesAt(initial, changes, step).map((schedule) =>
    schedule.name === shown.schedule ? scheduleAsShown(schedule, shown, initial) : schedule,
  );
  return { step, evaluations };
}
