import type { BenchmarkSummary } from '../../core/benchmark-run';
import type { StoredResult } from '../../stores/eval-store';

/** A result as `everstep eval --json` tells it. */
export function summaryOf(result: StoredResult): BenchmarkSummary {
  return {
    name: result.name,
    score: result.score,
    stderr: result.stderr,
    interval: result.ci,
    scoreCompleted: result.score_completed,
    numExamples: result.num_examples,
    numCompleted: result.num_completed,
    numCorrect: result.num_correct,
    numErrors: result.num_errors,
    numTruncated: result.num_truncated,
    passAtK: result.pass_at_k,
    timeSeconds: result.time_seconds,
    ...(result.regraded && { regraded: result.regraded }),
    ...(result.answers && { answers: result.answers }),
  };
}
