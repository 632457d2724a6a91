import {
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setHandler,
} from '@temporalio/workflow';
import { isCancelEvaluators } from '../core/evaluation-signals';
import { ENDED_WITH_ITS_RUN } from '../core/run';
import { identityOf } from '../core/same-evaluation';
import { evaluatorFor } from './activities';
import type { CellResult, EvaluateCheckpointInput, EvaluationFinished } from './contracts';
import { cancelEvaluatorsSignal, evaluationFinishedSignal } from './contracts';
import { failureMessage, isTimedOut } from './training/failures';

/**
 * Score one snapshot with every evaluator that is due on it, in parallel.
 *
 * An evaluator that fails, or uses up its budget, is a result like any other: it is reported and ends nothing. Running it
 * again finds finished cells in the store and samples nothing twice.
 */
export async function evaluateCheckpoint(input: EvaluateCheckpointInput): Promise<readonly CellResult[]> {
  const cells = new Cells(input);
  setHandler(cancelEvaluatorsSignal, (asked) => {
    if (isCancelEvaluators(asked)) cells.cancel(asked.evaluators, asked.reason);
    else log.warn('a signal cancelEvaluators that no run sends was passed over');
  });
  const results = await cells.evaluate();
  await CancellationScope.nonCancellable(() => tellParent(input, { ...identityOf(input), cells: results }));
  return results;
}

/** The evaluators of one snapshot, each of which can be cancelled by itself. */
class Cells {
  private readonly scopes = new Map<string, CancellationScope>();
  private readonly reasons = new Map<string, string>();
  private readonly final = new Map<string, CellResult>();

  constructor(private readonly input: EvaluateCheckpointInput) {}

  async evaluate(): Promise<readonly CellResult[]> {
    return Promise.all(this.input.evaluators.map((name) => this.evaluateOne(name)));
  }

  cancel(evaluators: readonly string[], reason: string): void {
    for (const name of evaluators) {
      if (this.final.has(name)) continue;
      this.reasons.set(name, reason);
      this.scopes.get(name)?.cancel();
    }
  }

  private async evaluateOne(name: string): Promise<CellResult> {
    const scope = new CancellationScope();
    this.scopes.set(name, scope);
    // A cancel can come with the first task, before there is anything to cancel.
    if (this.reasons.has(name)) scope.cancel();
    const result = await scope.run(() => this.evaluateCell(name));
    this.final.set(name, result);
    await this.tellOfParts(name);
    return result;
  }

  private async evaluateCell(name: string): Promise<CellResult> {
    const budget = this.input.budgets?.[name];
    try {
      return await evaluatorFor(budget?.seconds).evaluateCell({
        ...this.input,
        evaluator: name,
        ...(budget && { budget }),
      });
    } catch (error) {
      return { evaluator: name, scores: [], at: new Date().toISOString(), ...this.explain(name, error) };
    }
  }

  /** Why a cell has no scores. */
  private explain(name: string, error: unknown): Pick<CellResult, 'error' | 'omission'> {
    const reason = this.reasons.get(name);
    if (reason !== undefined && isCancellation(error)) return { error: reason, omission: 'cancelled' };
    const seconds = this.input.budgets?.[name]?.seconds;
    if (seconds !== undefined && isTimedOut(error)) {
      return { error: `it was not done within its budget of ${seconds} seconds` };
    }
    return { error: isCancellation(error) ? ENDED_WITH_ITS_RUN : failureMessage(error) };
  }

  /** Schedules whose evaluators are all final, while others go on. */
  private async tellOfParts(name: string): Promise<void> {
    const { parts = [], evaluators } = this.input;
    if (this.final.size === evaluators.length) return;
    for (const part of parts) {
      if (!part.evaluators.includes(name)) continue;
      const cells = part.evaluators.flatMap((each) => this.final.get(each) ?? []);
      if (cells.length < part.evaluators.length) continue;
      await tellParent(this.input, { ...identityOf(this.input), part: part.schedule, cells });
    }
  }
}

async function tellParent(
  { run, parentWorkflowId }: EvaluateCheckpointInput,
  told: EvaluationFinished,
): Promise<void> {
  try {
    // Without a run id, so that it reaches whichever execution of the run lives.
    await getExternalWorkflowHandle(parentWorkflowId).signal(evaluationFinishedSignal, told);
  } catch (error) {
    log.warn('the training run could not be told', { run, reason: failureMessage(error) });
  }
}
