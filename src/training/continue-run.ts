import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AskedEvaluation, ContinuedRun, DueEvaluation, RunRemains } from '../core/continued-run';
import { REQUESTED_SCHEDULE } from '../core/controls/evaluation-request';
import type { CarriedChanges } from '../core/controls/carried-changes';
import { carriedChanges } from '../core/controls/carried-changes';
import { schedulesAt } from '../core/controls/schedule-change';
import type { ControlRow } from '../core/controls';
import { largestOf, smallestOf } from '../core/extremes';
import type { GateMemory } from '../core/gates/gate';
import type { CheckpointRow, RunState, ScoreRow } from '../core/run';
import { isEndedWithItsRun } from '../core/run';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import { schedulesDueAt } from '../core/schedules/evaluation-schedule';
import type { EarlierEnd } from '../core/timeline';
import type { TrainingPlan } from '../core/training-plan';
import { readPromotion } from '../stores/checkpoint-name';
import type { RunOwner, RunStore } from '../stores/run-store';
import { hasErrorCode } from '../stores/system-errors';
import type { EngineAccess } from './engine-access';
import { removePolicyNote } from './policy-note';
import { planOf } from './prepare-run';
import { recordedSchedules } from './recorded-schedules';
import type { RunRecord } from './run-folder';
import { readRunRecord, requireRun } from './run-folder';
import { tellContinued } from './tell-continued';

interface ContinueDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
}

export interface ContinueRunInput {
  readonly run: string;
  readonly workflowId: string;
  readonly firstRunId: string;
  /** When its workflow asked for it: the same in every attempt. */
  readonly askedAt: string;
  /** What ended the workflow before, as the server knows it; for a run that could not write how it ended. */
  readonly endedBefore?: EarlierEnd | undefined;
}

/** Everything of a run's folder that going on depends on. */
interface Journals {
  readonly record: RunRecord;
  readonly state: RunState;
  readonly checkpoints: readonly CheckpointRow[];
  readonly scores: readonly ScoreRow[];
  readonly controls: readonly ControlRow[];
  /** The last step that was collected. */
  readonly lastStep: number;
  /** Cells that were begun, as `<step>/<evaluator>`. */
  readonly begun: ReadonlySet<string>;
}

const ATTEMPTS_OF_A_WRITE = 1_000_000;
const KEPT_CONTROLS = 100;
/** What the workflow before may still begin to write before it hears that the run is another's. */
const WRITES_UNHEARD = 1000;

/**
 * Makes a run that another workflow began this workflow's own, and says where it stands by its journals.
 *
 * Training goes on from the newest checkpoint before which every evaluation has its result or its snapshot: what was
 * trained after it is trained again, from that state, so that no step is missing from the weights or in them twice. A run
 * that was cancelled or failed is open again, and its timeline keeps what ended it. Repeating it finds the same.
 */
export async function continueRun(
  { store, engines }: ContinueDependencies,
  { run, askedAt, endedBefore, ...owner }: ContinueRunInput,
): Promise<RunRemains> {
  await requireRun(store, run);
  const state = await store.readState(run);
  if (state?.status === 'completed' || state?.status === 'stopped') {
    const { status, step, totalSteps, finalWeightsDigest } = state;
    return { found: 'ended', report: { status, step, totalSteps, finalWeightsDigest } };
  }
  const record = state && (await readRunRecord(store, run));
  const writes = await firstWrite(store, run, owner);
  await store.takeOver(run, { ...owner, firstEpoch: writes * ATTEMPTS_OF_A_WRITE });
  if (!record) return { found: 'nothing' };
  await removeUnheard(store, run);
  const journals = await readJournals(store, record, state);
  const isFree = await isServiceFree(engines, journals.record);
  const continued = { ...(await rebuild(store, journals, isFree)), writes };
  const { lastStep } = journals;
  await tellContinued(store, { state, continued, lastStep, askedAt, endedBefore });
  await store.writeState(run, reopened(state, owner.workflowId));
  if (continued.plan.rollouts) await removePolicyNote(store.runFolder(run));
  return { found: 'continued', run: continued };
}

/** After all that those before wrote, or may write yet. The same again where this workflow has the run already. */
async function firstWrite(store: RunStore, run: string, owner: RunOwner): Promise<number> {
  const present = await store.readOwner(run);
  const begun = (present?.firstEpoch ?? 0) / ATTEMPTS_OF_A_WRITE;
  const written = Math.ceil((await store.latestEpoch(run)) / ATTEMPTS_OF_A_WRITE);
  const isRepeated = begun > 0 && present?.firstRunId === owner.firstRunId;
  return Math.max(begun, written) + (isRepeated ? 0 : WRITES_UNHEARD);
}

/** What ended with the run has no result, and is due again. */
async function removeUnheard(store: RunStore, run: string): Promise<void> {
  const rows = await store.readScores(run);
  if (!rows.some(isEndedWithItsRun)) return;
  const epoch = (await store.latestEpoch(run)) + 1;
  const journal = await store.openJournal(run, 'scores', { epoch, keep: (row) => !isEndedWithItsRun(row) });
  await journal.close();
}

async function readJournals(store: RunStore, record: RunRecord, state: RunState): Promise<Journals> {
  const { run } = state;
  const [checkpoints, scores, controls, last, begun] = await Promise.all([
    store.readCheckpoints(run),
    store.readScores(run),
    store.readControls(run),
    store.readLastMetrics(run),
    begunCells(store.runFolder(run)),
  ]);
  return { record, state, checkpoints, scores, controls, begun, lastStep: last?.step ?? 0 };
}

async function isServiceFree(engines: EngineAccess, { config }: RunRecord): Promise<boolean> {
  const engine = await engines.connect(config.engine, { baseModel: config.model });
  await engine.client.close();
  return engine.profile.server === 'everstep';
}

async function rebuild(
  store: RunStore,
  journals: Journals,
  isFree: boolean,
): Promise<Omit<ContinuedRun, 'writes'>> {
  const { record, state, controls, checkpoints } = journals;
  const { run } = state;
  const schedules = recordedSchedules(record);
  const plan = planOf(
    { run, config: record.config },
    { schedules },
    { exampleCount: record.data.trainCount, startedAt: state.startedAt, isFree, remarks: [] },
  );
  const changes = carriedChanges(controls, plan);
  const missing = unfinished(journals, plan, changes);
  const asked = askedEvaluations(journals);
  const step = standsAt(
    journals,
    [...missing, ...asked.waiting].map((lacking) => lacking.step),
  );
  const [sent, best, lost] = await Promise.all([
    store.readSent(run),
    readPromotion(store.runFolder(run)),
    store.readLife(run),
  ]);
  return {
    ...changes,
    plan,
    step,
    sentThrough: largestOf([-1, ...sent.map((row) => row.step), journals.lastStep]),
    tokens: checkpoints.findLast((row) => row.step === step)?.elapsed_tokens ?? 0,
    lost,
    due: missing.flatMap((each) => (each.step <= step ? (dueEvaluation(each, checkpoints) ?? []) : [])),
    asked: asked.waiting.map((each) => ({ ...each, snapshot: snapshotOf(each.step, checkpoints) })),
    askedCount: asked.count,
    best: best && { step: best.step, name: best.name },
    gates: gateMemories(plan.evaluations, journals.scores, best?.step ?? null),
    rewinds: state.rewinds,
    stepsReplayed: state.stepsReplayed,
    remarks: state.remarks ?? [],
    recentControls: controls.slice(-KEPT_CONTROLS),
  };
}

interface Unfinished {
  readonly step: number;
  readonly schedules: readonly string[];
  /** Evaluators that have their results for all of them. */
  readonly recorded: readonly string[];
}

/** Steps up to the last one with schedules that have no result there, or whose gate has not decided. */
function unfinished(
  { state, scores, controls, begun, lastStep }: Journals,
  plan: TrainingPlan,
  { scheduleChanges }: CarriedChanges,
): Unfinished[] {
  const scored = new Set(scores.map(({ step, schedule, evaluator }) => `${step}/${schedule}/${evaluator}`));
  const decided = new Set(controls.filter(({ by }) => by === 'gate').flatMap(({ step }) => [step, step - 1]));
  const found: Unfinished[] = [];
  for (let step = 0; step <= lastStep; step++) {
    const all = schedulesAt(plan.evaluations, scheduleChanges, step);
    const planned = schedulesDueAt(all, {
      step,
      totalSteps: state.totalSteps,
      tokensBefore: 0,
      tokensAfter: 0,
    });
    const isDue = ({ name, every, evaluators }: EvaluationSchedule) =>
      planned.includes(name) ||
      (every !== undefined && !('steps' in every) && evaluators.some((each) => begun.has(`${step}/${each}`)));
    const isLacking = ({ name, evaluators, gate }: EvaluationSchedule) =>
      evaluators.some((each) => !scored.has(`${step}/${name}/${each}`)) ||
      (gate !== undefined && step > 0 && !decided.has(step));
    const lacking = all.filter((schedule) => isDue(schedule) && isLacking(schedule));
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

/** -1 where no checkpoint is kept that training can go on from. */
function standsAt({ checkpoints }: Journals, lackingSteps: readonly number[]): number {
  const hasSnapshot = (step: number) => snapshotOf(step, checkpoints) !== null;
  const bound = smallestOf(lackingSteps.filter((step) => !hasSnapshot(step)));
  const usable = checkpoints.filter(({ step, state_path }) => state_path !== null && step < bound);
  return largestOf([-1, ...usable.map(({ step }) => step)]);
}

function snapshotOf(step: number, checkpoints: readonly CheckpointRow[]): AskedEvaluation['snapshot'] {
  const row = checkpoints.findLast((one) => one.step === step && one.sampler_path !== null);
  if (row?.sampler_path == null) return null;
  return { samplerPath: row.sampler_path, isCheckpoint: true, lineage: row.lineage };
}

function dueEvaluation(
  { step, schedules, recorded }: Unfinished,
  checkpoints: readonly CheckpointRow[],
): DueEvaluation | null {
  const snapshot = snapshotOf(step, checkpoints);
  return snapshot && { ...snapshot, step, schedules, ...(recorded.length > 0 && { recorded }) };
}

function gateMemories(
  schedules: readonly EvaluationSchedule[],
  scores: readonly ScoreRow[],
  best: number | null,
): Record<string, GateMemory> {
  const memories = schedules.flatMap(({ name, gate }): [string, GateMemory][] => {
    if (!gate) return [];
    const scoreAt = (step: number | null) => {
      const row = scores.findLast(
        (one) => one.step === step && one.evaluator === gate.evaluator && one.key === gate.metric,
      );
      if (row?.value == null) return null;
      const { value, stderr, n, clusters } = row;
      return { step: row.step, value, stderr, n, ...(clusters !== undefined && { clusters }) };
    };
    return [[name, { base: scoreAt(0), best: scoreAt(best) }]];
  });
  return Object.fromEntries(memories);
}

function reopened(state: RunState, workflowId: string): RunState {
  const kept: { -readonly [Key in keyof RunState]: RunState[Key] } = { ...state };
  delete kept.reason;
  return {
    ...kept,
    status: state.status === 'paused' ? 'paused' : 'running',
    closedAt: null,
    finalWeightsDigest: null,
    workflowId,
  };
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
