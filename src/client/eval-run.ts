import type { BenchmarkSummary } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { EvalReport } from './eval-handle';
import type { ConnectOptions } from './connect-options';
import type { EvaluateOptions } from './evaluate-options';
import { Everstep } from './everstep';

export interface RunBenchmarksOptions extends EvaluateOptions {
  /** How Temporal and the store are reached; default as `Everstep.connect` finds them. */
  readonly connect?: ConnectOptions;
}

/** Scores a model on one benchmark and waits for the result. Throws why there is none. */
export async function runBenchmark(
  benchmark: string,
  options: RunBenchmarksOptions,
): Promise<BenchmarkSummary> {
  const { benchmarks, failures } = await runBenchmarks([benchmark], options);
  const [summary] = benchmarks;
  if (summary) return summary;
  throw new DomainError('request-failed', failures[0]?.message ?? `${benchmark} has no result.`);
}

/** Scores a model on several benchmarks at the same time and waits for all of them; what failed is told beside. */
export async function runBenchmarks(
  benchmarks: readonly string[],
  { connect, ...options }: RunBenchmarksOptions,
): Promise<EvalReport> {
  const everstep = await Everstep.connect(connect);
  try {
    const handle = await everstep.evaluate(benchmarks, options);
    const report = await handle.result();
    if (report) return report;
    throw new DomainError('request-failed', 'Waiting for the benchmarks was called off.');
  } finally {
    await everstep.close();
  }
}
