import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ReinforcementConfig } from '../config/reinforcement-config';
import type { SupervisedConfig } from '../config/supervised-config';
import type { TrainingConfig } from '../config/training-config';
import type { ControlReceipt, ControlRequest, ControlRow, StopRequest } from '../core/controls';
import type { BudgetRequest } from '../core/controls/budget';
import type { EvaluationRequest } from '../core/controls/evaluation-request';
import type { LearningRateRequest } from '../core/controls/learning-rate';
import type { PauseRequest } from '../core/controls/pause';
import type { PromotionRequest } from '../core/controls/promotion';
import type { ScheduleRequest } from '../core/controls/schedule-change';
import type { SettingsRequest } from '../core/controls/settings';
import type { CellOmission, CellScore, EvaluationCell, LiveStatus, ScoreRow } from '../core/run';
import type { EvaluationBudget } from '../core/schedules/evaluation-schedule';
import type { EarlierEnd, RunEvent } from '../core/timeline';

/** What starts a run. The workflow id is `train/<run>`. */
export interface TrainingInput<Config extends TrainingConfig = TrainingConfig> {
  readonly run: string;
  /** Parsed, with defaults filled in and paths made absolute. */
  readonly config: Config;
  /** False where the server does not know Everstep's search attributes. */
  readonly useSearchAttributes: boolean;
  /** Who started it from what: recorded in config.json. */
  readonly provenance: RunProvenance;
  /** Folder of benchmark data that goes before the hub (EVERSTEP_DATA_DIR); default: the worker's own. */
  readonly dataFolder?: string;
  /** Events after which the run goes on in a new execution; default 2000. */
  readonly maxHistoryEvents?: number;
  /** The run was begun by an earlier workflow: this one goes on from what its folder holds. */
  readonly continues?: boolean;
  /** What ended that workflow, as the server knows it; for a run that could not write how it ended. */
  readonly endedBefore?: EarlierEnd;
  /** A pause longer than this lets go of the model; default 60 seconds. */
  readonly holdSeconds?: number;
}

export type TrainSupervisedInput = TrainingInput<SupervisedConfig>;
export type TrainReinforcementInput = TrainingInput<ReinforcementConfig>;

export interface RunProvenance {
  readonly everstepVersion: string;
  readonly codeRevision: string | null;
  /** What differed from that revision; becomes code.diff. */
  readonly codeDiff?: string | null;
  readonly startedBy: string;
  readonly command: readonly string[];
  /** What a person should know of it. */
  readonly remarks?: readonly string[];
}

export interface TrainReport {
  readonly run: string;
  readonly status: 'completed' | 'stopped' | 'cancelled';
  readonly step: number;
  readonly totalSteps: number;
  readonly finalWeightsDigest: string | null;
}

/** The workflow id is `eval/<run>/<step>`. */
export interface EvaluateCheckpointInput {
  readonly run: string;
  readonly step: number;
  /** Rises when an evaluation had to be started again. */
  readonly attempt: number;
  readonly lineage: number;
  /** The immutable snapshot to measure. */
  readonly samplerPath: string;
  /** Names; their options are in the run's folder. */
  readonly evaluators: readonly string[];
  /** Which one of those that people asked for; absent where a schedule did. */
  readonly request?: number;
  /** The schedule that waited for an earlier evaluation of its own. */
  readonly late?: string;
  /** Evaluators by the schedule that asked, where several did: each is told of as soon as its own are final. */
  readonly parts?: readonly EvaluationPart[];
  /** Limits of single evaluators. */
  readonly budgets?: Readonly<Record<string, EvaluationBudget>>;
  /** The training workflow to tell. */
  readonly parentWorkflowId: string;
}

export interface EvaluationPart {
  readonly schedule: string;
  readonly evaluators: readonly string[];
}

export interface CellResult {
  readonly evaluator: string;
  readonly scores: readonly CellScore[];
  readonly at: string;
  readonly error?: string;
  readonly omission?: CellOmission;
  /** Of its activity, where the worker of the attempt before was lost with the cell in hand. */
  readonly attempt?: number;
}

/** Evaluators that make room for a later evaluation of their schedule. */
export interface CancelEvaluators {
  readonly evaluators: readonly string[];
  readonly reason: string;
}

export interface EvaluationFinished {
  readonly step: number;
  readonly request?: number;
  readonly late?: string;
  /** Only what this schedule asked for is final; others go on. */
  readonly part?: string;
  readonly cells: readonly CellResult[];
}

export const statusQuery = defineQuery<LiveStatus>('status');
export const evaluationsQuery = defineQuery<readonly EvaluationCell[]>('evaluations');
/** The newest scores; the whole history is in the store's scores.jsonl. */
export const scoresQuery = defineQuery<readonly ScoreRow[]>('scores');
export const evaluationFinishedSignal = defineSignal<[EvaluationFinished]>('evaluationFinished');
/** Cells that are final while others of their evaluation go on, each told so once. */
export const cellsFinishedSignal = defineSignal<[EvaluationFinished]>('cellsFinished');
export const cancelEvaluatorsSignal = defineSignal<[CancelEvaluators]>('cancelEvaluators');
/** The newest changes people made, and what happened else; all of them are in the store. */
export const controlsQuery = defineQuery<readonly ControlRow[]>('controls');
export const timelineQuery = defineQuery<readonly RunEvent[]>('timeline');
/** Ends the run after a step: it is saved and evaluated as a last step is. Answered with the step. */
export const stopUpdate = defineUpdate<ControlReceipt, [StopRequest]>('stop');
/** Says why the server is about to be asked to cancel the run. */
export const explainCancelUpdate = defineUpdate<ControlReceipt, [ControlRequest]>('explainCancel');
/** Has the run stand still after a step. A long pause lets go of the model, whose state is saved. */
export const pauseUpdate = defineUpdate<ControlReceipt, [PauseRequest]>('pause');
/** Ends a pause, begun or not. Answered with the first step trained after it. */
export const resumeUpdate = defineUpdate<ControlReceipt, [ControlRequest]>('resume');
/**
 * Those who do the work are about to go: what is under way is finished, the state is saved and the model let go of. The run
 * goes on by itself some seconds later, whoever does the work then. Answered with the step.
 */
export const handOverUpdate = defineUpdate<ControlReceipt, [ControlRequest]>('handOver');
/** Another peak learning rate from a step on. */
export const setLearningRateUpdate = defineUpdate<ControlReceipt, [LearningRateRequest]>('setLearningRate');
/** Other steps, or other evaluators, of a named schedule. */
export const setEvalScheduleUpdate = defineUpdate<ControlReceipt, [ScheduleRequest]>('setEvalSchedule');
/** Learning rate, schedules and budget together, all of it or nothing. Answered with what each change comes to. */
export const setUpdate = defineUpdate<readonly ControlReceipt[], [SettingsRequest]>('set');
/** Evaluators on the weights as they are, or on a kept checkpoint. Answered with the step they measure. */
export const runEvaluationUpdate = defineUpdate<ControlReceipt, [EvaluationRequest]>('runEvaluation');
/** Limits of what the run may use; at a limit it pauses itself. */
export const setBudgetUpdate = defineUpdate<ControlReceipt, [BudgetRequest]>('setBudget');
/** Marks a kept checkpoint as the run's best. */
export const promoteUpdate = defineUpdate<ControlReceipt, [PromotionRequest]>('promote');
