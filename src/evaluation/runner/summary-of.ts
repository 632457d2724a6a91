import type { BenchmarkSummary } from '../../core/benchmark-run';
import { NUM_UNPARSED } from '../judges/parsed-total';
import { unjudgedRemark } from '../judges/unjudged-remark';
import type { StoredResult } from '../../stores/eval-store';

/** A result as `everstep eval --json` tells it. */
export function summaryOf(result: StoredResult): BenchmarkSummary {
  const numUnparsed = result.metrics[NUM_UNPARSED] ?? 0;
  const unjudged = unjudgedRemark(result);
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
    ...(numUnparsed > 0 && { numUnparsed }),
    ...(unjudged !== null && { unjudged }),
    passAtK: result.pass_at_k,
    timeSeconds: result.time_seconds,
    ...(result.regraded && { regraded: result.regraded }),
    ...(result.answers && { answers: result.answers }),
  };
}
