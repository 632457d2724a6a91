import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import type { AskedEvaluation, ContinuedRun, DueEvaluation, RunRemains } from '../core/continued-run';
import { largestOf } from '../core/extremes';
import type { GateMemory } from '../core/gates/gate';
import type { RunState, ScoreRow } from '../core/run';
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
import type { MadeSnapshots, UselessState } from './snapshots-from-states';
import { snapshotsFromStates } from './snapshots-from-states';
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

interface ContinueOptions {
  readonly signal: AbortSignal;
  readonly onWaiting: TellWaiting;
}

const ATTEMPTS_OF_A_WRITE = 1_000_000;
const KEPT_CONTROLS = 100;
/** What the workflow before may still begin to write before it hears that the run is another's. */
const WRITES_UNHEARD = 1000;

/**
 * Makes a run that another workflow began this workflow's own, and says where it stands by its journals.
 *
 * Training goes on from the newest checkpoint before which every evaluation has its result, its snapshot or its step's saved
 * state: what was trained after it is trained again, from that state, so that no step is missing from the weights or in them
 * twice. Of steps whose state alone is kept and that are to be measured, snapshots are made. A run that was cancelled or
 * failed is open again, and its timeline keeps what ended it. Repeating it finds the same, and makes its snapshots anew.
 */
export async function continueRun(
  { store, engines }: ContinueDependencies,
  { run, askedAt, endedBefore, ...owner }: ContinueRunInput,
  options: ContinueOptions,
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
  const lost = await store.readLife(run);
  const epoch = writes * ATTEMPTS_OF_A_WRITE;
  const standing = await stand(journals, (states) =>
    snapshotsFromStates(
      engines,
      { record, states, lost, owner: { run, workflow: owner.firstRunId, epoch } },
      options,
    ),
  );
  const continued = { ...(await rebuild(store, { ...journals, ...standing }, { isFree, lost })), writes };
  const { lastStep } = journals;
  const measured = [...standing.made.paths.keys()];
  await tellContinued(store, { state, continued, measured, lastStep, askedAt, endedBefore });
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

type Standing = ReturnType<typeof whereItStands> & { readonly made: MadeSnapshots };

/** Where a state that was to be measured is of no use, training goes back to before its step. */
async function stand(
  journals: Journals,
  make: (states: Standing['fromStates']) => Promise<MadeSnapshots>,
): Promise<Standing> {
  const hoped = whereItStands(journals);
  const made = await make(hoped.fromStates);
  const { useless } = made;
  if (useless === null) return { ...hoped, made };
  return { ...whereItStands(journals, new Set([useless.row.step])), made };
}

async function rebuild(
  store: RunStore,
  standing: Journals & Standing,
  { isFree, lost }: Pick<ContinuedRun, 'lost'> & { readonly isFree: boolean },
): Promise<Omit<ContinuedRun, 'writes'>> {
  const { record, state, controls, checkpoints, evaluations, changes } = standing;
  const { missing, timed, asked, step, made } = standing;
  const { run } = state;
  const plan = planOf(
    { run, config: record.config },
    { schedules: evaluations },
    { exampleCount: record.data.trainCount, startedAt: state.startedAt, isFree, remarks: [] },
  );
  const [sent, best] = await Promise.all([store.readSent(run), readPromotion(store.runFolder(run))]);
  return {
    ...changes,
    plan,
    step,
    sentThrough: largestOf([-1, ...sent.map((row) => row.step), standing.lastStep]),
    tokens: checkpoints.findLast((row) => row.step === step)?.elapsed_tokens ?? 0,
    lost,
    ...(made.models.length > 0 && { savers: made.models }),
    due: missing.flatMap((each) => (each.step <= step ? (dueEvaluation(each, standing) ?? []) : [])),
    ...(timed.length > 0 && { timed }),
    asked: asked.waiting.map((each) => ({ ...each, snapshot: measuredAt(each.step, standing) })),
    askedCount: asked.count,
    best: best && { step: best.step, name: best.name },
    gates: gateMemories(plan.evaluations, standing.scores, best?.step ?? null),
    rewinds: state.rewinds,
    stepsReplayed: state.stepsReplayed,
    remarks: [...(state.remarks ?? []), ...(made.useless ? [uselessText(made.useless)] : [])],
    recentControls: controls.slice(-KEPT_CONTROLS),
  };
}

function uselessText({ row, reason }: UselessState): string {
  return `Checkpoint ${row.name} was to be measured for the evaluations of step ${row.step}, and cannot be: ${reason}`;
}

function dueEvaluation(
  { step, schedules, recorded }: Unfinished,
  standing: Pick<Journals & Standing, 'checkpoints' | 'made'>,
): DueEvaluation | null {
  const snapshot = measuredAt(step, standing);
  return snapshot && { ...snapshot, step, schedules, ...(recorded.length > 0 && { recorded }) };
}

/** Weights of a step that were kept, or saved from its state just now: those go when they are measured. */
function measuredAt(
  step: number,
  { checkpoints, made }: Pick<Journals & Standing, 'checkpoints' | 'made'>,
): AskedEvaluation['snapshot'] {
  const samplerPath = made.paths.get(step);
  if (samplerPath === undefined) return snapshotOf(step, checkpoints);
  const lineage = checkpoints.findLast((row) => row.step === step)?.lineage ?? 0;
  return { samplerPath, isCheckpoint: false, lineage };
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
