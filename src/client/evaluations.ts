import type { DeletionSources, ResultsDeletion } from './delete-results';
import { deleteResults, planResultsDeletion } from './delete-results';
import type { CancelledEval, CancelOptions } from './eval-cancel';
import { cancelEval } from './eval-cancel';
import type { EvalSummary } from './eval-list';
import { listEvals } from './eval-list';
import type { WaitingBenchmark } from './eval-waiting';
import { findFailures, findWaiting } from './eval-waiting';
import type { BenchmarkFailure } from './eval-workflow';

/** Eval runs: those of the store and those that the server has under way. */
export class Evaluations {
  constructor(private readonly sources: () => DeletionSources) {}

  async list(): Promise<EvalSummary[]> {
    const { link, store } = this.sources();
    return listEvals(link, store);
  }

  /** What is under way of an eval run, and what it waits for. */
  async waiting(run: string): Promise<WaitingBenchmark[]> {
    return findWaiting(this.sources().link, run);
  }

  /** Which of these benchmarks of an eval run failed or were called off, and why. */
  async failures(run: string, benchmarks: readonly string[]): Promise<BenchmarkFailure[]> {
    return findFailures(this.sources().link, run, benchmarks);
  }

  /** Calls off what is under way of an eval run; what is journalled stays. Refuses a run of which nothing is. */
  async cancel(run: string, options: CancelOptions = {}): Promise<CancelledEval> {
    return cancelEval(this.sources().link, run, options);
  }

  /** What `delete` would take, and what stands against it. */
  async planDeletion(runs: readonly string[]): Promise<ResultsDeletion[]> {
    return planResultsDeletion(this.sources(), runs);
  }

  /** Deletes the results of eval runs that have ended and that nothing refers to: all of them or none. */
  async delete(runs: readonly string[]): Promise<ResultsDeletion[]> {
    return deleteResults(this.sources(), runs);
  }
}
