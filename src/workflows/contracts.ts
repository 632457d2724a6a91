import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { SupervisedConfig } from '../config/supervised-config';
import type { ControlReceipt, ControlRequest, StopRequest } from '../core/controls';
import type { CellScore, EvaluationCell, LiveStatus, ScoreRow } from '../core/run';

/** What starts a run. The workflow id is `train/<run>`. */
export interface TrainSupervisedInput {
  readonly run: string;
  /** Parsed, with defaults filled in and paths made absolute. */
  readonly config: SupervisedConfig;
  /** False where the server does not know Everstep's search attributes. */
  readonly useSearchAttributes: boolean;
  /** Who started it from what: recorded in config.json. */
  readonly provenance: RunProvenance;
  /** Events after which the run goes on in a new execution; default 2000. */
  readonly maxHistoryEvents?: number;
}

export interface RunProvenance {
  readonly everstepVersion: string;
  readonly codeRevision: string | null;
  /** What differed from that revision; becomes code.diff. */
  readonly codeDiff?: string | null;
  readonly startedBy: string;
  readonly command: readonly string[];
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
  /** The training workflow to tell. */
  readonly parentWorkflowId: string;
}

export interface CellResult {
  readonly evaluator: string;
  readonly scores: readonly CellScore[];
  readonly at: string;
  readonly error?: string;
}

export interface EvaluationFinished {
  readonly step: number;
  readonly cells: readonly CellResult[];
}

export const statusQuery = defineQuery<LiveStatus>('status');
export const evaluationsQuery = defineQuery<readonly EvaluationCell[]>('evaluations');
/** The newest scores; the whole history is in the store's scores.jsonl. */
export const scoresQuery = defineQuery<readonly ScoreRow[]>('scores');
export const evaluationFinishedSignal = defineSignal<[EvaluationFinished]>('evaluationFinished');
/** Ends the run after a step: it is saved and evaluated as a last step is. Answered with the step. */
export const stopUpdate = defineUpdate<ControlReceipt, [StopRequest]>('stop');
/** Says why the server is about to be asked to cancel the run. */
export const explainCancelUpdate = defineUpdate<ControlReceipt, [ControlRequest]>('explainCancel');
