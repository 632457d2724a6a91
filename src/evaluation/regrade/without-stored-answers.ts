import type { BenchmarkRequest } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';

/** Refuses stored answers where what is stored is no text that a grader reads: of a task by likelihood, or of Inspect AI. */
export function withoutStoredAnswers(request: BenchmarkRequest, by: string): BenchmarkRequest {
  const { benchmark, run, isRegrading, answersFrom } = request;
  if (!isRegrading && answersFrom === undefined) return request;
  throw new DomainError(
    'bad-config',
    `${benchmark} of ${run} is measured by ${by} and not by a grader of ours: its answers are neither graded again nor taken. Ask it anew with another --run NAME.`,
  );
}
