import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AskedEvaluation } from '../core/continued-run';
import { REQUESTED_SCHEDULE } from '../core/controls/evaluation-request';
import type { CarriedChanges } from '../core/controls/carried-changes';
import { carriedChanges } from '../core/controls/carried-changes';
import { schedulesAt } from '../core/controls/schedule-change';
import type { ControlRow } from '../core/controls';
import { hasErrorCode } from '../core/error-code';
import { largestOf, smallestOf } from '../core/extremes';
import type { CheckpointRow, RunState, ScoreRow } from '../core/run';
import { dueByJournals } from '../core/schedules/due-by-journals';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import type { SentRow, TimedStep } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import { DomainError } from '../core/errors';
import { recordedSchedules } from './recorded-schedules';
import type { RunRecord } from './run-folder';

/** Reading what a run with so many has done takes seconds. */
const MOST_STEPS = 10_000_000;

/** What going on depends on of a store. */
type ReadableRuns = Pick<
  RunStore,
  | 'readCheckpoints'
  | 'readConfig'
  | 'readControls'
  | 'readLastMetrics'
  | 'readScores'
  | 'readSent'
  | 'readState'
  | 'runFolder'
>;

/** Everything of a run's folder that going on depends on. */
export interface Journals {
  readonly record: RunRecord;
  readonly state: RunState;
  readonly checkpoints: readonly CheckpointRow[];
  readonly scores: readonly ScoreRow[];
  readonly controls: readonly ControlRow[];
  /** The last step that was collected. */
  readonly lastStep: number;
  /** Cells that were begun, as `<step>/<evaluator>`. */
  readonly begun: ReadonlySet<string>;
  /** Steps that were sent, by whichever life. */
  readonly sent: readonly SentRow[];
}

export interface Unfinished {
  readonly step: number;
  readonly schedules: readonly string[];
  /** Evaluators that have their results for all of them. */
  readonly recorded: readonly string[];
}

export async function readJournals(
  store: ReadableRuns,
  record: RunRecord,
  state: RunState,
): Promise<Journals> {
  const { run } = state;
  const [checkpoints, scores, controls, last, begun, sent] = await Promise.all([
    store.readCheckpoints(run),
    store.readScores(run),
    store.readControls(run),
    store.readLastMetrics(run),
    begunCells(store.runFolder(run)),
    store.readSent(run),
  ]);
  return { record, state, checkpoints, scores, controls, begun, sent, lastStep: last?.step ?? 0 };
}

/**
 * What is due, and the last step that training can go on from so that all of it gets its result.
 *
 * @param gone steps whose saved state turned out to be of no use
 */
export function whereItStands(journals: Journals, gone: ReadonlySet<number> = new Set()) {
  const { record, state, controls } = journals;
  const evaluations = recordedSchedules(record);
  const changes = carriedChanges(controls, { totalSteps: state.totalSteps, evaluations });
  const missing = unfinished(journals, evaluations, changes);
  const asked = askedEvaluations(journals);
  const states = keptStates(journals.checkpoints).filter((row) => !gone.has(row.step));
  const lacking = stepsWithoutWeights(journals, [...missing, ...asked.waiting]);
  const step = standsAt(states, lacking);
  const isTimed = isTimedAmong((at) => schedulesAt(evaluations, changes.scheduleChanges, at));
  const timed = waitingAhead(journals, missing, step).flatMap((ahead) => {
    const schedules = ahead.schedules.filter((name) => isTimed(name, ahead.step));
    return schedules.length > 0 ? [{ step: ahead.step, schedules }] : [];
  });
  return { evaluations, changes, missing, asked, step, timed, fromStates: statesOf(lacking, states, step) };
}

/** The step of the checkpoint that a run would go on from; null where it would begin anew. */
export async function stepToContinueFrom(store: ReadableRuns, run: string): Promise<number | null> {
  const state = await store.readState(run);
  if (state === null) return null;
  const record = await store.readConfig<RunRecord>(run);
  const { step } = whereItStands(await readJournals(store, record, state));
  return step < 0 ? null : step;
}

/** Files may be somebody else's: a step beyond all others has been trained in no run. */
function lastTrained({ state, lastStep }: Pick<Journals, 'state' | 'lastStep'>): number {
  const last = Math.min(lastStep, state.totalSteps);
  if (last <= MOST_STEPS) return last;
  throw new DomainError(
    'store-conflict',
    `Run "${state.run}" says that it has been trained to step ${last}; no run has more than ${MOST_STEPS}. Its state.json or metrics.jsonl is damaged: put them back from a copy.`,
  );
}

/** Steps up to the last one with schedules that have no result there, or whose gate has not decided. */
function unfinished(
  { state, scores, controls, begun, sent, lastStep }: Journals,
  evaluations: readonly EvaluationSchedule[],
  { scheduleChanges }: CarriedChanges,
): Unfinished[] {
  const scored = new Set(scores.map(({ step, schedule, evaluator }) => `${step}/${schedule}/${evaluator}`));
  const decided = new Set(controls.filter(({ by }) => by === 'gate').flatMap(({ step }) => [step, step - 1]));
  const isDue = dueByJournals({ sent, begun, totalSteps: state.totalSteps });
  const found: Unfinished[] = [];
  const end = lastTrained({ state, lastStep });
  for (let step = 0; step <= end; step++) {
    const all = schedulesAt(evaluations, scheduleChanges, step);
    const isLacking = ({ name, evaluators, gate }: EvaluationSchedule) =>
      evaluators.some((each) => !scored.has(`${step}/${name}/${each}`)) ||
      (gate !== undefined && step > 0 && !decided.has(step));
    const lacking = all.filter((schedule) => isDue(schedule, step) && isLacking(schedule));
    if (lacking.length === 0) continue;
    const isRecorded = (evaluator: string) =>
      lacking.every(
        ({ name, evaluators }) =>
          !evaluators.includes(evaluator) || scored.has(`${step}/${name}/${evaluator}`),
      );
    const asked = [...new Set(lacking.flatMap(({ evaluators }) => evaluators))];
    found.push({ step, schedules: lacking.map(({ name }) => name), recorded: asked.filter(isRecorded) });
  }
  return found;
}

function isTimedAmong(schedulesOf: (step: number) => readonly EvaluationSchedule[]) {
  return (name: string, step: number) =>
    schedulesOf(step).some(
      (schedule) => schedule.name === name && schedule.every !== undefined && 'seconds' in schedule.every,
    );
}

/** What was due at steps that are trained again, or were sent and not collected. */
function waitingAhead(
  { sent, lastStep }: Journals,
  missing: readonly Unfinished[],
  from: number,
): readonly TimedStep[] {
  const uncollected = new Map<number, readonly string[]>();
  for (const { step, schedules = [] } of sent) {
    if (step > lastStep)
      uncollected.set(step, [...new Set([...(uncollected.get(step) ?? []), ...schedules])]);
  }
  return [
    ...missing.filter(({ step }) => step > from),
    ...[...uncollected].map(([step, schedules]) => ({ step, schedules })),
  ];
}

/** Evaluations that people asked for and that have no result. */
function askedEvaluations({ controls, scores, lastStep }: Journals): {
  readonly waiting: readonly Omit<AskedEvaluation, 'snapshot'>[];
  readonly count: number;
} {
  const rows = controls.filter(({ control }) => control === 'runEvaluation');
  const waiting = rows.flatMap(({ step, to }, index) => {
    const named = Array.isArray(to) ? to.filter((name) => typeof name === 'string') : [];
    const isScored = (name: string) =>
      scores.some(
        (row) => row.step === step && row.evaluator === name && row.schedule === REQUESTED_SCHEDULE,
      );
    const evaluators = named.filter((name) => step > lastStep || !isScored(name));
    return evaluators.length > 0 ? [{ request: index + 1, step, evaluators }] : [];
  });
  return { waiting, count: rows.length };
}

/** Those that a service may still have, oldest first: of rolling ones only the newest is kept. */
function keptStates(checkpoints: readonly CheckpointRow[]): CheckpointRow[] {
  const newest = checkpoints.at(-1);
  return checkpoints.filter((row) => row.state_path !== null && (row.rolling !== true || row === newest));
}

/** Steps that are to be measured and of which no weights to sample from are kept, in order. */
function stepsWithoutWeights(
  { checkpoints }: Journals,
  lacking: readonly { readonly step: number }[],
): number[] {
  const steps = new Set(lacking.map(({ step }) => step));
  return [...steps].filter((step) => snapshotOf(step, checkpoints) === null).sort((a, b) => a - b);
}

/** What has a state is measured from that; what has none is trained again. -1 where training would begin anew. */
function standsAt(states: readonly CheckpointRow[], lacking: readonly number[]): number {
  const saved = new Set(states.map(({ step }) => step));
  const bound = smallestOf(lacking.filter((step) => !saved.has(step)));
  return largestOf([-1, ...[...saved].filter((step) => step < bound)]);
}

/** The states from which evaluations of steps up to this one are measured. */
function statesOf(
  lacking: readonly number[],
  states: readonly CheckpointRow[],
  through: number,
): CheckpointRow[] {
  return lacking
    .filter((step) => step <= through)
    .flatMap((step) => states.findLast((row) => row.step === step) ?? []);
}

export function snapshotOf(step: number, checkpoints: readonly CheckpointRow[]): AskedEvaluation['snapshot'] {
  const row = checkpoints.findLast((one) => one.step === step && one.sampler_path !== null);
  if (row?.sampler_path == null) return null;
  return { samplerPath: row.sampler_path, isCheckpoint: true, lineage: row.lineage };
}

async function begunCells(runFolder: string): Promise<ReadonlySet<string>> {
  const folder = join(runFolder, 'evals');
  const cells = await Promise.all(
    (await namesIn(folder)).map(async (step) =>
      (await namesIn(join(folder, step))).map((evaluator) => `${step}/${evaluator}`),
    ),
  );
  return new Set(cells.flat());
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
