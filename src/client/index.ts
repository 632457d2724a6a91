/** What `import … from 'everstep'` gives. */
export { Everstep } from './everstep';
export type { ConnectOptions, TrainingConfigInput } from './everstep';
export { RunHandle } from './run-handle';
export type { ControlOptions, StopOptions } from './run-controls';
export type { RunReport } from './run-report';
export type { RunFilter, RunSummary } from './list-runs';
export type { StartedRun, StartOptions } from './start-run';
export { completeTrainingConfig, loadTrainingConfig } from '../config/load-config';
export { SupervisedConfig } from '../config/supervised-config';
export type { ControlReceipt, ControlRow } from '../core/controls';
export { DomainError } from '../core/errors';
export type { CheckpointRow, EvaluationCell, MetricsRow, RunStatus, ScoreRow, TimingRow } from '../core/run';
export type { PluginEvaluator, PluginGrader, Plugins, SamplingClient } from '../evaluation/plugins';
