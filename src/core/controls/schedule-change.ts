import type { ControlBounds, SteppedRequest } from '../controls';
import {
  fieldsOf,
  isPositive,
  refused,
  requireAtStep,
  requireControlRequest,
  resolveFirstStep,
} from '../controls';
import type { EvaluationSchedule } from '../schedules/evaluation-schedule';
import { changeAt } from './changes-by-step';
import { requireNames, resolveEvaluators } from './evaluation-request';

type Rhythm = NonNullable<EvaluationSchedule['every']>;

/** A change to one evaluation schedule. What is null stays as it is. */
export interface ScheduleRequest extends SteppedRequest {
  readonly schedule: string;
  /** A new rhythm instead of the old one; `never` also leaves the last step out. */
  readonly every: Rhythm | 'never' | null;
  /** Listed steps instead of a rhythm. */
  readonly at: readonly number[] | null;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** A schedule as `controls.jsonl` and people are told of it. */
export interface ShownSchedule {
  readonly schedule: string;
  readonly when: Rhythm | readonly number[] | 'never';
  readonly evaluators: readonly string[];
}

/** All schedules from a step on. */
export interface ScheduleChange {
  readonly step: number;
  readonly evaluations: readonly EvaluationSchedule[];
}

export interface ResolvedSchedule {
  readonly step: number;
  readonly from: EvaluationSchedule;
  readonly to: EvaluationSchedule;
  readonly evaluations: readonly EvaluationSchedule[];
}

const MAX_LISTED_STEPS = 1000;
const MAX_RHYTHM = 1e15;
/** All of them travel with the run: a rewind evaluates every step as it was due. */
const MAX_SCHEDULE_CHANGES = 50;

export function requireScheduleRequest(request: unknown): void {
  requireControlRequest(request);
  requireAtStep(request, 1);
  const { schedule, every, at, add, remove } = fieldsOf(request);
  requireNames([schedule], 'schedule');
  requireNames(add, 'add');
  requireNames(remove, 'remove');
  requireTimes(every, at);
  if (every === null && at === null && isEmpty(add) && isEmpty(remove))
    throw refused('Nothing would change.');
  refuseBoth(add, remove);
}

function refuseBoth(add: unknown, remove: unknown): void {
  const removed: readonly unknown[] = Array.isArray(remove) ? remove : [];
  const added: readonly unknown[] = Array.isArray(add) ? add : [];
  const both = added.find((name) => removed.includes(name));
  if (both === undefined) return;
  throw refused(`${JSON.stringify(both)} is added and removed. Leave one of the two out.`);
}

function requireTimes(every: unknown, at: unknown): void {
  if (every !== null && every !== 'never' && !isRhythm(every)) {
    throw refused(
      '"every" has to be {"steps": n}, {"tokens": n} or {"seconds": n} with a whole number from 1 on (seconds may be a fraction), "never", or null to leave it.',
    );
  }
  if (at !== null && !isStepList(at)) {
    throw refused(`"at" has to be a list of 1 to ${MAX_LISTED_STEPS} steps, or null to leave it.`);
  }
  if (every !== null && at !== null) throw refused('Give "every" or "at", not both.');
}

export interface ScheduleSituation extends ControlBounds {
  /** Schedules of the plan. */
  readonly initial: readonly EvaluationSchedule[];
  readonly changes: readonly ScheduleChange[];
}

export function resolveSchedule(request: ScheduleRequest, situation: ScheduleSituation): ResolvedSchedule {
  const { initial, changes } = situation;
  const step = resolveFirstStep(request, situation);
  const evaluations = schedulesAt(initial, changes, step);
  const from = evaluations.find(({ name }) => name === request.schedule);
  if (!from) {
    const known = initial.map(({ name }) => name).join(', ') || 'none';
    throw refused(`Unknown schedule "${request.schedule}". The run has: ${known}.`);
  }
  const isNew = !changes.some((change) => change.step === step);
  if (isNew && changes.length >= MAX_SCHEDULE_CHANGES) {
    throw refused(
      `The schedules of this run were changed ${MAX_SCHEDULE_CHANGES} times; that is all it takes.`,
    );
  }
  const atEnd = initial.some(({ name, atEnd: isAtEnd }) => name === from.name && isAtEnd);
  const to = changed({ from, atEnd }, request, { ...situation, step, known: evaluatorsOf(initial) });
  return {
    step,
    from,
    to,
    evaluations: evaluations.map((schedule) => (schedule === from ? to : schedule)),
  };
}

export function shownSchedule({ name, every, at, evaluators }: EvaluationSchedule): ShownSchedule {
  return { schedule: name, when: every ?? at ?? 'never', evaluators };
}

/** The schedule that was shown so; `initial` says whether the last step is evaluated, unless it is switched off. */
export function scheduleAsShown(
  from: EvaluationSchedule,
  { when, evaluators }: ShownSchedule,
  initial: readonly EvaluationSchedule[],
): EvaluationSchedule {
  const atEnd = initial.some(({ name, atEnd: isAtEnd }) => name === from.name && isAtEnd);
  const every = typeof when === 'object' && !isListed(when) ? when : null;
  const at = typeof when === 'object' && isListed(when) ? when : null;
  return { ...withTimes({ from, atEnd }, when === 'never' ? 'never' : every, at), evaluators };
}

function isListed(when: Rhythm | readonly number[]): when is readonly number[] {
  return Array.isArray(when);
}

/** The schedules as they are at a step. */
export function schedulesAt(
  initial: readonly EvaluationSchedule[],
  changes: readonly ScheduleChange[],
  step: number,
): readonly EvaluationSchedule[] {
  return changeAt(changes, step)?.evaluations ?? initial;
}

/** Every evaluator that a run was started with. */
export function evaluatorsOf(schedules: readonly EvaluationSchedule[]): string[] {
  return [...new Set(schedules.flatMap(({ evaluators }) => evaluators))];
}

/** Whether the last step is evaluated is as it was planned, unless the schedule is switched off. */
interface Before {
  readonly from: EvaluationSchedule;
  readonly atEnd: boolean;
}

function changed(
  { from, atEnd }: Before,
  { every, at, add, remove }: ScheduleRequest,
  {
    step,
    totalSteps,
    known,
  }: Pick<ControlBounds, 'totalSteps'> & {
    readonly step: number;
    readonly known: readonly string[];
  },
): EvaluationSchedule {
  if (add.length > 0) resolveEvaluators(add, known);
  requireRemovable(from, remove);
  const evaluators = [...new Set([...from.evaluators.filter((name) => !remove.includes(name)), ...add])];
  if (evaluators.length === 0) {
    throw refused(
      `Schedule "${from.name}" would have no evaluators left. Give "every": "never" to switch it off.`,
    );
  }
  const past = at?.find((listed) => listed < step);
  if (past !== undefined)
    throw refused(`Step ${past} of "at" is past or under way; the earliest is ${step}.`);
  const beyond = at?.find((listed) => listed > totalSteps);
  if (beyond !== undefined)
    throw refused(`Step ${beyond} of "at" is beyond the run's ${totalSteps} steps. Give earlier ones.`);
  return { ...withTimes({ from, atEnd }, every, at), evaluators };
}

function requireRemovable({ name, gate, evaluators }: EvaluationSchedule, remove: readonly string[]): void {
  const missing = remove.find((evaluator) => !evaluators.includes(evaluator));
  if (missing !== undefined) {
    throw refused(`Schedule "${name}" has no evaluator "${missing}". It has: ${evaluators.join(', ')}.`);
  }
  if (gate && remove.includes(gate.evaluator)) {
    throw refused(
      `The gate of schedule "${name}" decides by evaluator "${gate.evaluator}". Give "every": "never" to switch the schedule off.`,
    );
  }
}

function withTimes(
  { from, atEnd }: Before,
  every: ScheduleRequest['every'],
  at: ScheduleRequest['at'],
): EvaluationSchedule {
  if (every === null && at === null) return from;
  const { name, offset, atStart, mode, evaluators, overlap, gate, budget } = from;
  const others = { ...(overlap && { overlap }), ...(gate && { gate }), ...(budget && { budget }) };
  const rest = { name, offset, atStart, mode, evaluators, ...others };
  if (every === 'never') return { ...rest, atEnd: false };
  return { ...rest, atEnd, ...(every && { every }), ...(at && { at }) };
}

function isRhythm(value: unknown): boolean {
  const entries = Object.entries(fieldsOf(value));
  const [name, count] = entries[0] ?? [];
  if (entries.length !== 1 || !isPositive(count, MAX_RHYTHM)) return false;
  if (name === 'seconds') return true;
  return (name === 'steps' || name === 'tokens') && Number.isInteger(count);
}

function isStepList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= MAX_LISTED_STEPS &&
    value.every((step) => Number.isSafeInteger(step) && step >= 0)
  );
}

function isEmpty(names: unknown): boolean {
  return Array.isArray(names) && names.length === 0;
}
