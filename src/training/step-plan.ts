import { peakAt } from '../core/controls/learning-rate';
import { schedulesAt } from '../core/controls/schedule-change';
import type { Datum, LossFunction } from '../core/datum';
import type { DueCheckpoint } from '../core/schedules/checkpoint-schedule';
import { checkpointDueAt, stepName } from '../core/schedules/checkpoint-schedule';
import { isPromotable, schedulesDueAt } from '../core/schedules/evaluation-schedule';
import { learningRateAt } from '../core/schedules/learning-rate';
import type { OptimizationPlan, SaveHere, SegmentInput, TrainingPlan } from '../core/training-plan';
import type { BatchSource, BatchUpdate, DerivedLoss, StepBatch } from './step-batch';

/** A policy nobody deleted expires: its run is gone, or stands still for so long that it saves another. */
const POLICY_SECONDS = 86_400;

/** Everything one step sends to the training service, in order. Step 0 has no batch, only saves. */
export interface PlannedStep {
  readonly step: number;
  /** What is trained; null where there are only saves. */
  readonly batch: StepBatch | null;
  readonly updates: readonly PlannedUpdate[];
  /** Forward passes under the weights after the updates. */
  readonly remeasured: readonly (readonly Datum[])[];
  /** Seq id of the first request; the others follow densely. */
  readonly firstSeqId: number;
  readonly requestCount: number;
  readonly learningRate: number;
  readonly tokensAfter: number;
  /** Optimizer updates done with this step. */
  readonly updatesAfter: number;
  readonly checkpoint: DueCheckpoint | null;
  /** Name of the sampler weights to save; null where nothing needs them. */
  readonly samplerName: string | null;
  /** Seconds the sampler weights live where no checkpoint decides it; null while somebody needs them. */
  readonly samplerLife: number | null;
  readonly schedules: readonly string[];
  /** Somebody asked for an evaluation of this step, whatever is due. */
  readonly isAsked: boolean;
  readonly isBlocking: boolean;
}

/** Requests of one optimizer update: chunks, then the update itself. */
export interface PlannedUpdate {
  readonly chunks: readonly (readonly Datum[])[];
  readonly lossFn: LossFunction;
  readonly lossFnConfig?: Readonly<Record<string, number>>;
  /** The chunks are measured first, and sent again with the weights that come of it. */
  readonly derived?: DerivedLoss;
}

export interface StepPlanner {
  readonly plan: TrainingPlan;
  readonly optimization: OptimizationPlan;
  readonly batches: BatchSource;
  readonly cutIntoChunks: (data: readonly Datum[]) => readonly (readonly Datum[])[];
  /** What people changed, by steps. */
  readonly changes?: Pick<SegmentInput, 'rates' | 'scheduleChanges' | 'snapshotAt'>;
}

export interface StepStart {
  readonly step: number;
  readonly seqId: number;
  readonly tokensBefore: number;
  readonly updatesBefore: number;
  /** Schedules that the clock asks for at this step. */
  readonly timedSchedules: readonly string[];
  /** No schedule is due up to this step: a rewind replays what was evaluated already. */
  readonly evaluatedThrough: number;
  /** The run ends here: the plan's last step, or an earlier one it was asked to stop at. */
  readonly lastStep: number;
}

/** A pure function of plan, data and start, so that a retry sends exactly what was sent before. */
export async function planStep(planner: StepPlanner, start: StepStart): Promise<PlannedStep> {
  const { step } = start;
  const batch = step === 0 ? null : await planner.batches.batch(step);
  const updates = (batch?.updates ?? []).map((update) => planUpdate(planner, update)).filter(hasGradient);
  const tokensAfter = start.tokensBefore + (batch?.tokenCount ?? 0);
  const saves = planSaves(planner, start, tokensAfter);
  const remeasured =
    updates.length === 0 ? [] : planner.cutIntoChunks((batch?.remeasured ?? []).map(measurable));
  const trainingCount = updates.reduce((count, update) => count + requestsOf(update), 0) + remeasured.length;

  return {
    step,
    firstSeqId: start.seqId,
    batch,
    updates,
    remeasured,
    requestCount:
      trainingCount + [saves.checkpoint, saves.samplerName].filter((save) => save !== null).length,
    learningRate: rateAt(planner, Math.max(1, step)),
    tokensAfter,
    updatesAfter: start.updatesBefore + updates.length,
    ...saves,
  };
}

type PlannedSaves = Pick<
  PlannedStep,
  'checkpoint' | 'samplerName' | 'samplerLife' | 'schedules' | 'isAsked' | 'isBlocking'
>;

/** What is saved after a step, and for whom. */
function planSaves(planner: StepPlanner, start: StepStart, tokensAfter: number): PlannedSaves {
  const { plan, changes } = planner;
  const { step, lastStep } = start;
  const { schedules, isBlocking } = dueSchedules(planner, start, tokensAfter);
  const checkpoint = dueCheckpoint(planner, start, schedules);
  const isAsked = changes?.snapshotAt?.includes(step) ?? false;
  const isMeasured = isAsked || schedules.length > 0;
  const isSampledFrom = plan.rollouts !== undefined && step < lastStep;
  return {
    checkpoint,
    samplerName: samplerNameOf(step, checkpoint, isMeasured || isSampledFrom),
    samplerLife: isMeasured ? null : POLICY_SECONDS,
    schedules,
    isAsked,
    isBlocking,
  };
}

/** What a gate may promote is kept whole, as a periodic checkpoint is. The start is never promoted. */
function dueCheckpoint(
  { plan, changes }: StepPlanner,
  { step, lastStep }: StepStart,
  schedules: readonly string[],
): DueCheckpoint | null {
  const evaluations = schedulesAt(plan.evaluations, changes?.scheduleChanges ?? [], step);
  const rhythmic = checkpointDueAt(plan.checkpoints, step, lastStep);
  const isKeptAnyway = rhythmic !== null && rhythmic.kind !== 'rolling';
  if (isKeptAnyway || !isPromotable(evaluations, schedules)) return rhythmic;
  return { name: stepName(step), kind: 'periodic', ttlSeconds: plan.checkpoints.ttlSeconds };
}

/** As a forward pass takes it: sequences that weigh the same, because some services take no others. */
function measurable(datum: Datum): Datum {
  const { length } = datum.tokens;
  return { ...datum, lossInputs: { weights: new Float32Array(length).fill(1 / length) } };
}

function requestsOf({ chunks, derived }: PlannedUpdate): number {
  return chunks.length * (derived ? 2 : 1) + 1;
}

function planUpdate(
  { cutIntoChunks }: StepPlanner,
  { parts, lossFn, lossFnConfig, derived }: BatchUpdate,
): PlannedUpdate {
  if (derived) {
    const chunks = parts.flatMap((part) => cutIntoChunks(part.map(measurable)));
    return { chunks, lossFn: 'cross_entropy', derived };
  }
  return { chunks: parts.flatMap(cutIntoChunks), lossFn, ...(lossFnConfig && { lossFnConfig }) };
}

function hasGradient({ chunks }: PlannedUpdate): boolean {
  return chunks.length > 0;
}

function dueSchedules(
  { plan, changes }: StepPlanner,
  { step, lastStep, tokensBefore, evaluatedThrough, timedSchedules }: StepStart,
  tokensAfter: number,
): Pick<PlannedStep, 'schedules' | 'isBlocking'> {
  const evaluations = schedulesAt(plan.evaluations, changes?.scheduleChanges ?? [], step);
  const facts = { step, totalSteps: lastStep, tokensBefore, tokensAfter };
  const due = step <= evaluatedThrough ? [] : schedulesDueAt(evaluations, facts);
  const schedules = [...new Set([...due, ...timedSchedules])];
  const isBlocking = evaluations.some(({ name, mode }) => mode === 'blocking' && schedules.includes(name));
  return { schedules, isBlocking };
}

export function rateAt({ plan, optimization, changes }: StepPlanner, step: number): number {
  const { learningRate, schedule } = optimization;
  const peak = peakAt(changes?.rates ?? [], step) ?? learningRate;
  return learningRateAt({ peak, schedule, totalSteps: plan.totalSteps }, step);
}

export interface ReachedState {
  readonly step: number;
  readonly seqId: number;
  readonly tokens: number;
  readonly updates: number;
  readonly ttlSeconds: number | null;
  /** `reached` and `held` resume training; what was asked for is sampled from. */
  readonly kind: 'reached' | SaveHere;
}

/** Saves what stands after a step that was trained without. */
export function planSave({ step, seqId, tokens, updates, ttlSeconds, kind }: ReachedState): PlannedStep {
  const saved = kind === 'reached' || kind === 'held' ? kind : null;
  // Names of their own, so that what a rhythm saves at the step stays as it is.
  const name = kind === 'reached' ? stepName(step) : `${stepName(step)}-${kind}`;
  return {
    step,
    firstSeqId: seqId,
    requestCount: 1,
    batch: null,
    updates: [],
    remeasured: [],
    learningRate: 0,
    tokensAfter: tokens,
    updatesAfter: updates,
    // A pause may outlast any expiry; the next checkpoint retires what was held.
    checkpoint: saved && { name, kind: saved, ttlSeconds: saved === 'held' ? null : ttlSeconds },
    samplerName: saved ? null : name,
    samplerLife: null,
    schedules: [],
    isAsked: saved === null,
    isBlocking: false,
  };
}

/** Periodic and final checkpoints are also sampled from; the first and rolling ones only resume training. */
function samplerNameOf(step: number, checkpoint: DueCheckpoint | null, isEvaluated: boolean): string | null {
  if (checkpoint?.kind === 'periodic' || checkpoint?.kind === 'final') return checkpoint.name;
  return isEvaluated ? stepName(step) : null;
}
