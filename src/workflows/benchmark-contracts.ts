import type { BenchmarkRequest, EvaluatorRequest } from '../core/benchmark-run';

/** The workflow id is `bench/<eval-run>/<benchmark>`. */
export interface RunBenchmarkInput {
  readonly request: BenchmarkRequest;
  /** The server knows our search attributes. */
  readonly useSearchAttributes?: true;
}

/** The workflow id is `bench/<eval-run>/<evaluator>`. */
export interface RunEvaluatorInput {
  readonly request: EvaluatorRequest;
}
