import type { Budget } from './controls/budget';
import type { RateChange } from './controls/learning-rate';
import type { ScheduleChange } from './controls/schedule-change';
import type { AdamParams } from './datum';
import type { SamplingPrices } from './sampling-cost';
import type { CheckpointSchedule } from './schedules/checkpoint-schedule';
import type { EvaluationSchedule } from './schedules/evaluation-schedule';
import type { LearningRateSchedule } from './schedules/learning-rate';
import type { RunEvent } from './timeline';

/** Everything about a run that its workflow decides by: small, fixed when the run is prepared. */
export interface TrainingPlan {
  readonly run: string;
  readonly kind: 'sft' | 'rl';
  readonly model: string;
  readonly startedAt: string;
  readonly totalSteps: number;
  readonly stepsPerEpoch: number;
  readonly submitAhead: number;
  readonly checkpoints: CheckpointSchedule;
  readonly evaluations: readonly EvaluationSchedule[];
  /** Limits and price of the config; absent where it names none. */
  readonly budget?: Budget;
  /** Of what is drawn for training, where the config has them; the budget's price is that of training alone then. */
  readonly samplingPrices?: SamplingPrices;
  /** The engine costs nothing. */
  readonly isFree?: boolean;
  /** What a step has to sample before it can be trained; absent where batches are there from the start. */
  readonly rollouts?: RolloutPlan;
  /** What a person should know of the data; absent where there is nothing, and in histories from before it was said. */
  readonly remarks?: readonly string[];
}

/** How the rollouts of a step are sampled, as far as the workflow decides it. */
export interface RolloutPlan {
  readonly groupsPerBatch: number;
  readonly groupsPerShard: number;
  /** Steps that the weights which sample may be behind; 0 is synchronous. */
  readonly maxStepsOffPolicy: number;
  /** Parts of a batch are sent while others are sampled. */
  readonly isStreamed: boolean;
}

/** Fixed numbers of the optimizer, kept beside the plan for the worker that runs the steps. */
export interface OptimizationPlan {
  readonly learningRate: number;
  readonly schedule: LearningRateSchedule;
  readonly adam: Omit<AdamParams, 'learningRate'>;
}

/** One life of the model at the service. It ends with the session, the server or a fence; the next one starts from a checkpoint. */
export interface ModelIncarnation {
  readonly incarnation: number;
  readonly lineage: number;
  readonly sessionId: string;
  readonly modelId: string;
  /** Steps done when this life began; absent in histories from before it was kept. */
  readonly baseStep?: number;
  readonly engineUrl: string;
  /** Same inputs give the same weights, so a rewind stays in its lineage. */
  readonly isDeterministic: boolean;
  /** A resent request is answered with the first one's result. */
  readonly deduplicates: boolean;
  /** Requests larger than this are cut; fixed here because the cut decides seq ids. */
  readonly chunkLimits: { readonly maxChunkDatums: number; readonly maxChunkBytes: number };
}

/** Requests of one step that were sent and not yet answered. */
export interface StepInFlight {
  readonly step: number;
  readonly requestIds: readonly string[];
}

/** Where training stands. -1 means that not even the saves of step 0 are done. */
export interface TrainingPosition {
  readonly collectedThrough: number;
  readonly submittedThrough: number;
  /** Seq id of the first request of step `collectedThrough + 1`. */
  readonly nextSeqId: number;
  readonly inFlight: readonly StepInFlight[];
  /** Tokens trained on in the steps collected. */
  readonly tokens: number;
  /** Those of the steps in flight among them; absent in histories from before it was kept. */
  readonly tokensSubmitted?: number;
  /** Optimizer updates of the steps collected; absent where each step is one. */
  readonly updates?: number;
}

export interface OpenModelInput {
  readonly run: string;
  /** Numbers the model's lives, from 0. */
  readonly incarnation: number;
  readonly lineage: number;
  readonly segment: number;
  /** Where the workflow knows the run to stand: the snapshots of later steps were not handed over, so those are trained again. */
  readonly collectedThrough: number;
  /** What earlier rewinds came to, for the run's state in the store. */
  readonly stepsReplayed?: number;
  /** The life that ended, to be unloaded if the service still has it; null at the first. */
  readonly previous: ModelIncarnation | null;
  /** The life before was let go of at a checkpoint, not lost: going on from there is no rewind. */
  readonly isReleased?: boolean;
  /** Rewinds so far; absent in histories from before a model could be released. */
  readonly rewinds?: number;
}

/** An open model and where training goes on from. */
export interface OpenedModel {
  readonly model: ModelIncarnation;
  readonly position: TrainingPosition;
  /** Steps that were applied beyond it already: counted by the service where it can be asked, else those journalled. */
  readonly stepsToReplay: number;
  /** What was tried before, e.g. a checkpoint that is gone. */
  readonly remarks: readonly string[];
  /** As `position.tokens`, of the last step that the life before sent; absent where it sent none. */
  readonly tokensSent?: number;
}

/** Schedules by seconds, bound to a step before that step is submitted. */
export interface TimedStep {
  readonly step: number;
  readonly schedules: readonly string[];
}

/** Frozen input of one segment: a retry sends exactly the same requests. */
export interface SegmentInput {
  readonly plan: TrainingPlan;
  readonly model: ModelIncarnation;
  readonly position: TrainingPosition;
  /** Rises with every segment and every opening of the run; the first part of the writers' lease. */
  readonly segment: number;
  /** No step after this one is submitted. */
  readonly throughStep: number;
  /** After this long the segment ends at the next collected step, leaving work in flight. */
  readonly maxSeconds: number;
  /** Steps at which the clock asks for schedules by seconds, until they are collected. */
  readonly timedSteps: readonly TimedStep[];
  /** Evaluations up to this step were started; replayed steps make no snapshot for them again. */
  readonly evaluatedThrough: number;
  /** Where the run was asked to stop; else it ends at the plan's last step. */
  readonly stopAt?: number;
  /** What an earlier segment of the same input has sent is not known. */
  readonly isRepeat?: boolean;
  /** Save the state reached once everything in flight is collected. */
  readonly savesAtEnd?: boolean;
  /** Changed learning rates, by the first step that has them. */
  readonly rates?: readonly RateChange[];
  /** Changed schedules, by the first step that has them. */
  readonly scheduleChanges?: readonly ScheduleChange[];
  /** Steps of which somebody asked for an evaluation. */
  readonly snapshotAt?: readonly number[];
  /** Only save where training stands: its state, to let go of the model, or a snapshot to be evaluated. */
  readonly saveHere?: SaveHere;
  /** How long the rollouts of the next steps took, for their timing. */
  readonly sampled?: readonly SampledStep[];
  /** The rollouts of all steps up to this one were journalled. */
  readonly sampledThrough?: number;
  /** Weights that a sampler may be waiting for are passed on to it as soon as they are saved. */
  readonly passing?: PolicyPassing;
  /** What happened since the segment before, to be written with this one's rows. */
  readonly events?: readonly RunEvent[];
  /** No step is sent that would take the position's tokens past this; absent where nothing limits them. */
  readonly tokensAtMost?: number;
  /** The step that reaches so many tokens is handed over, so that people are warned in time. */
  readonly handOverAtTokens?: number;
}

/** Part of the save's name; evaluations that were asked for have a number, and so have policies that expired. */
export type SaveHere = 'held' | `asked-${number}` | `policy-${number}`;

/** A named snapshot and the schedules that asked for it; none where only a person did. */
export interface Snapshot {
  readonly step: number;
  readonly samplerPath: string;
  readonly schedules: readonly string[];
  /** Also a checkpoint's sampler weights: kept when its evaluations are done. */
  readonly isCheckpoint: boolean;
}

/** A step whose rollouts are journalled, and the seconds that took. */
export interface SampledStep {
  readonly step: number;
  readonly seconds: number;
}

/** Weights that the next rollouts are sampled from. */
export interface PolicySnapshot {
  readonly step: number;
  readonly samplerPath: string;
  /** Also a checkpoint's sampler weights: kept when nothing is sampled from it any more. */
  readonly isCheckpoint: boolean;
}

/** Which weights a segment passes on, and to whom. */
export interface PolicyPassing {
  /** Of the samplers that are meant; one that was called off belongs to an earlier one. */
  readonly generation: number;
  /** Those of later steps are not sampled from, or not yet. */
  readonly throughStep: number;
}

export interface SegmentResult {
  readonly position: TrainingPosition;
  readonly snapshots: readonly Snapshot[];
  /** The newest weights saved to sample from, where the run does. */
  readonly policy?: PolicySnapshot;
  /** The step of the newest weights that were passed on to samplers; absent where none were. */
  readonly passedOn?: number;
  /** A step whose rollouts were journalled and are not all there any more; absent where none is. */
  readonly lacking?: number;
  readonly seconds: number;
  /** Why the segment ended before it wanted to: the service is unreachable or has no capacity. */
  readonly waitingFor: string | null;
  /** Why the model is gone; what was collected before counts, and the run rewinds. */
  readonly lost: string | null;
  /** Requests of steps up to this one may be at the service; a change of plan takes effect after it. */
  readonly sentThrough?: number;
  /** The step that was not sent, because its tokens would not fit; absent where all did. */
  readonly unaffordable?: StepTokens;
  /** What a person should know of what it was trained with; absent where there is nothing. */
  readonly remark?: string;
}

export interface StepTokens {
  readonly step: number;
  readonly tokens: number;
}

/** A step that is about to be sent; a row of `sent.jsonl`. */
export interface SentRow {
  readonly step: number;
  readonly incarnation: number;
  /** Tokens of this life's steps, and of those before it, with this one's. */
  readonly tokens: number;
  /** Schedules due at it; absent in rows of earlier versions. */
  readonly schedules?: readonly string[];
}
