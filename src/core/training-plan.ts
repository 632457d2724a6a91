import type { AdamParams } from './datum';
import type { CheckpointSchedule } from './schedules/checkpoint-schedule';
import type { EvaluationSchedule } from './schedules/evaluation-schedule';
import type { LearningRateSchedule } from './schedules/learning-rate';

/** Everything about a run that its workflow decides by: small, fixed when the run is prepared. */
export interface TrainingPlan {
  readonly run: string;
  readonly kind: 'sft';
  readonly model: string;
  readonly startedAt: string;
  readonly totalSteps: number;
  readonly stepsPerEpoch: number;
  readonly submitAhead: number;
  readonly checkpoints: CheckpointSchedule;
  readonly evaluations: readonly EvaluationSchedule[];
}

/** Fixed numbers of the optimizer, kept beside the plan for the worker that runs the steps. */
export interface OptimizationPlan {
  readonly learningRate: number;
  readonly schedule: LearningRateSchedule;
  readonly adam: Omit<AdamParams, 'learningRate'>;
  readonly batchSize: number;
  readonly seed: number;
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
}

/** An open model and where training goes on from. */
export interface OpenedModel {
  readonly model: ModelIncarnation;
  readonly position: TrainingPosition;
  /** Steps that were applied beyond it already: counted by the service where it can be asked, else those journalled. */
  readonly stepsToReplay: number;
  /** What was tried before, e.g. a checkpoint that is gone. */
  readonly remarks: readonly string[];
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
}

/** A named snapshot and the schedules that asked for it. */
export interface Snapshot {
  readonly step: number;
  readonly samplerPath: string;
  readonly schedules: readonly string[];
  /** Also a checkpoint's sampler weights: kept when its evaluations are done. */
  readonly isCheckpoint: boolean;
}

export interface SegmentResult {
  readonly position: TrainingPosition;
  readonly snapshots: readonly Snapshot[];
  readonly seconds: number;
  /** Why the segment ended before it wanted to: the service is unreachable or has no capacity. */
  readonly waitingFor: string | null;
  /** Why the model is gone; what was collected before counts, and the run rewinds. */
  readonly lost: string | null;
  /** Requests of steps up to this one may be at the service; a change of plan takes effect after it. */
  readonly sentThrough?: number;
}
