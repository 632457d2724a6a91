/** What `import … from 'everstep'` gives. */
export { Everstep } from './everstep';
export type { ConnectOptions } from './connect-options';
export type { EvaluateOptions } from './evaluate-options';
export { BackfillHandle } from './backfill-handle';
export type { BackfillStart, RunningCell } from './backfill-handle';
export type { BackfillOptions } from './backfill-request';
export type {
  CompareRunsOptions,
  ComparedCurve,
  ComparedRun,
  MetricComparison,
  RunComparison,
} from './compare-runs';
export type { ResultsDeletion } from './delete-results';
export type { RunDeletion } from './delete-run';
export type { CleanUpOptions, Garbage, GarbageKind, GarbageReport, KeptGarbage } from './garbage';
export type { ConfigDifference } from './config-differences';
export type { CancelledEval, CancelOptions } from './eval-cancel';
export { EvalHandle } from './eval-handle';
export type { EvalCell, EvalStatus, EvalSummary } from './eval-list';
export type { EvalReport } from './eval-handle';
export type { EvaluatorHandle, EvaluatorOptions } from './eval-evaluator';
export type { BenchmarkProgress } from './eval-progress';
export type { BenchmarkFailure } from './eval-workflow';
export { runBenchmark, runBenchmarks } from './eval-run';
export type { RunBenchmarksOptions } from './eval-run';
export type { RegradeOptions } from './regrade';
export { RunHandle } from './run-handle';
export type {
  BudgetOptions,
  ControlOptions,
  EvaluationOptions,
  LearningRateOptions,
  PauseOptions,
  ScheduleOptions,
  SettingsOptions,
  StopOptions,
} from './control-requests';
export type { RunReport } from './run-report';
export type { RunFilter, RunPage, RunScore, RunSummary } from './run-summary';
export { setUpServer } from './setup-server';
export type { SetupOptions, SetupReport } from './setup-server';
export type { CanaryOptions } from './schedule-request';
export type { CanarySchedule, ScheduleCheck, ScheduleState } from './schedule-handle';
export type { CanarySchedules, ScheduleEntry } from './schedules';
export type { StartedRun, StartOptions } from './start-run';
export { loadTrainingConfig } from '../config/load-config';
export { completeTrainingConfig } from '../config/parse-training-config';
export { BenchmarkConfig } from '../config/benchmark-config';
export { SupervisedConfig } from '../config/supervised-config';
export type { TrainingConfig, TrainingConfigInput } from '../config/training-config';
export type { BackfillState, MatrixCell } from '../core/backfill';
export type { BenchmarkSummary } from '../core/benchmark-run';
export type { CanaryReport, CanaryScore, CanaryVerdict } from '../core/canary';
export type { ControlReceipt, ControlRow } from '../core/controls';
export type { Promotion } from '../core/controls/promotion';
export { DomainError } from '../core/errors';
export type { CommonPoint, CurvePoint, PointAtTokens } from '../core/metrics/metric-curve';
export type { TimelineEntry } from '../core/timeline';
export type { CheckpointRow, EvaluationCell, MetricsRow, RunStatus, ScoreRow, TimingRow } from '../core/run';
export { defineConfig, defineEnvironment, definePlugins } from './define';
export type { Plugins } from './define';
export type { PluginEvaluator, PluginGrader, SamplingClient } from '../evaluation/plugins';
export { pythonGrader } from '../core/python';
export { compareMany, compareResults } from '../evaluation/compare/compare-results';
export type { CompareManyOptions } from '../evaluation/compare/compare-results';
export type {
  ComparedPlace,
  CompareOptions,
  Comparison,
  ComparisonReport,
  Correction,
  DetailedComparison,
  FlippedExample,
  McnemarResult,
} from '../evaluation/compare/comparison';
export type {
  ExecOptions,
  ExecResult,
  Sandbox,
  SandboxFactory,
  SandboxLimit,
  SandboxLimits,
} from '../sandboxes/sandbox';
export { EvalStore } from '../stores/eval-run-store';
export type { EvalRunMetadata, NewEvalRun } from '../stores/eval-run-store';
export { loadResult, loadSummary, loadTrajectories, streamTrajectories } from '../stores/eval-store';
export type {
  ResultIdentity,
  StoredResult,
  StoredTrajectory,
  StoredTurn,
  SummaryEntry,
  TrajectoryFilter,
} from '../stores/eval-store';
export { printTrajectory } from '../stores/eval-trajectory-text';
export type { PrintOptions } from '../stores/eval-trajectory-text';
export * from './statistics';
export * from './benchmarks';
export * from './environments';
