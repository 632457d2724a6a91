import type { ContinuedRun, DueEvaluation, RunRemains } from '../core/continued-run';
import { largestOf } from '../core/extremes';
import type { GateMemory } from '../core/gates/gate';
import type { CheckpointRow, RunState, ScoreRow } from '../core/run';
import { isEndedWithItsRun } from '../core/run';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import type { EarlierEnd } from '../core/timeline';
import { readPromotion } from '../stores/checkpoint-name';
import type { RunOwner, RunStore } from '../stores/run-store';
import type { EngineAccess } from './engine-access';
import { removePolicyNote } from './policy-note';
import { planOf } from './prepare-run';
import type { RunRecord } from './run-folder';
import { readRunRecord, requireRun } from './run-folder';
import { tellContinued } from './tell-continued';
import type { Journals, Unfinished } from './where-it-stands';
import { readJournals, snapshotOf, whereItStands } from './where-it-stands';

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
  const { evaluations: schedules, changes, missing, asked, step } = whereItStands(journals);
  const plan = planOf(
    { run, config: record.config },
    { schedules },
    { exampleCount: record.data.trainCount, startedAt: state.startedAt, isFree, remarks: [] },
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
