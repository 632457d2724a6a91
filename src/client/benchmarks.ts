/** What plug-ins and programs declare benchmarks and tasks with. */
export { findBenchmark, registerBenchmark } from '../evaluation/benchmarks';
export type { Benchmark, GenerationDefaults, HubRows } from '../evaluation/benchmarks/benchmark';
export type { BenchmarkInput, ExampleInput, GraderFunction } from '../evaluation/benchmarks/benchmark-input';
export { createBenchmarkRowReader } from '../evaluation/benchmarks/benchmark-rows';
export type { BenchmarkRows, BenchmarkRowsPlaces } from '../evaluation/benchmarks/benchmark-rows';
export { longbenchWith } from '../evaluation/benchmarks/longbench';
export { makeExampleId } from '../evaluation/example';
export type { Example } from '../evaluation/example';
export type { Grader, Score } from '../evaluation/graders/grader';
export { choiceByPerplexity } from '../evaluation/kinds/choice-by-perplexity';
export type { ChoiceItem, ChoiceTask } from '../evaluation/kinds/choice-by-perplexity';
export { chooseIndices, evaluateKind } from '../evaluation/kinds/evaluate-kind';
export type {
  Intermediate,
  KindDependencies,
  KindOptions,
  KindResult,
  KindRow,
  Reduction,
} from '../evaluation/kinds/evaluate-kind';
export { generation } from '../evaluation/kinds/generation';
export type { GenerationItem, GenerationTask } from '../evaluation/kinds/generation';
export { findKind } from '../evaluation/kinds';
export { loadKindRows } from '../evaluation/kinds/load-kind-rows';
export type { Kind, KindDeclaration, KindSite } from '../evaluation/kinds/kind';
export { perplexity } from '../evaluation/kinds/perplexity';
export type { PerplexityTask } from '../evaluation/kinds/perplexity';
export { teacherForced } from '../evaluation/kinds/teacher-forced';
export type { TeacherForcedTask } from '../evaluation/kinds/teacher-forced';
export { DEFAULT_MAX_TOKENS, DEFAULT_TIMEOUT_SECONDS, forModel } from '../evaluation/model-defaults';
export type { ModelDefaults } from '../evaluation/model-defaults';
export type { ActionFacts, EnvironmentStep, MessageEnvironment, Observation } from '../core/environment';
