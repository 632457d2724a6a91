import type { Datum } from '../core/datum';
import type { DueCheckpoint } from '../core/schedules/checkpoint-schedule';
import { checkpointDueAt, stepName } from '../core/schedules/checkpoint-schedule';
import { schedulesDueAt } from '../core/schedules/evaluation-schedule';
import { learningRateAt } from '../core/schedules/learning-rate';
import type { OptimizationPlan, TrainingPlan } from '../core/training-plan';
import type { Batches } from './batches';
import type { PreparedData, PreparedExample } from './prepared-data';

/** Everything one step sends to the training service, in order. Step 0 has no batch, only saves. */
export interface PlannedStep {
  readonly step: number;
  /** Seq id of the first request; the others follow densely. */
  readonly firstSeqId: number;
  readonly requestCount: number;
  readonly examples: readonly PreparedExample[];
  readonly chunks: readonly (readonly Datum[])[];
  readonly learningRate: number;
  readonly tokensAfter: number;
  readonly checkpoint: DueCheckpoint | null;
  /** Name of the sampler weights to save; null where nothing needs them. */
  readonly samplerName: string | null;
  readonly schedules: readonly string[];
  readonly isBlocking: boolean;
}

export interface StepPlanner {
  readonly plan: TrainingPlan;
  readonly optimization: OptimizationPlan;
  readonly data: PreparedData;
  readonly batches: Batches;
  readonly cutIntoChunks: (data: readonly Datum[]) => readonly (readonly Datum[])[];
}

export interface StepStart {
  readonly step: number;
  readonly seqId: number;
  readonly tokensBefore: number;
  /** Schedules that the clock asks for at this step. */
  readonly timedSchedules: readonly string[];
  /** No schedule is due up to this step: a rewind replays what was evaluated already. */
  readonly evaluatedThrough: number;
  /** The run ends here: the plan's last step, or an earlier one it was asked to stop at. */
  readonly lastStep: number;
}

/** A pure function of plan, data and start, so that a retry sends exactly what was sent before. */
export function planStep(planner: StepPlanner, start: StepStart): PlannedStep {
  const { plan, optimization, data } = planner;
  const { step } = start;
  const examples = step === 0 ? [] : planner.batches(step).map((index) => data.example(index));
  const chunks = step === 0 ? [] : planner.cutIntoChunks(examples.map(({ datum }) => datum));
  const tokensAfter = start.tokensBefore + examples.reduce((sum, { datum }) => sum + datum.tokens.length, 0);
  const facts = { step, totalSteps: start.lastStep, tokensBefore: start.tokensBefore, tokensAfter };
  const due = step <= start.evaluatedThrough ? [] : schedulesDueAt(plan.evaluations, facts);
  const schedules = [...new Set([...due, ...start.timedSchedules])];
  const checkpoint = checkpointDueAt(plan.checkpoints, step, start.lastStep);
  const samplerName = samplerNameOf(step, checkpoint, schedules.length > 0);
  const training = step === 0 ? 0 : chunks.length + 1;

  return {
    step,
    firstSeqId: start.seqId,
    requestCount: training + (checkpoint ? 1 : 0) + (samplerName === null ? 0 : 1),
    examples,
    chunks,
    learningRate: learningRateAt(
      { peak: optimization.learningRate, schedule: optimization.schedule, totalSteps: plan.totalSteps },
      Math.max(1, step),
    ),
    tokensAfter,
    checkpoint,
    samplerName,
    schedules,
    isBlocking: plan.evaluations.some(({ name, mode }) => mode === 'blocking' && schedules.includes(name)),
  };
}

export interface ReachedState {
  readonly step: number;
  readonly seqId: number;
  readonly tokens: number;
  readonly ttlSeconds: number | null;
}

/** Saves the state after a step that was trained without: it resumes training and is not sampled from. */
export function planSave({ step, seqId, tokens, ttlSeconds }: ReachedState): PlannedStep {
  return {
    step,
    firstSeqId: seqId,
    requestCount: 1,
    examples: [],
    chunks: [],
    learningRate: 0,
    tokensAfter: tokens,
    checkpoint: { name: stepName(step), kind: 'reached', ttlSeconds },
    samplerName: null,
    schedules: [],
    isBlocking: false,
  };
}

/** Periodic and final checkpoints are also sampled from; the first and rolling ones only resume training. */
function samplerNameOf(step: number, checkpoint: DueCheckpoint | null, isEvaluated: boolean): string | null {
  if (checkpoint?.kind === 'periodic' || checkpoint?.kind === 'final') return checkpoint.name;
  return isEvaluated ? stepName(step) : null;
}
