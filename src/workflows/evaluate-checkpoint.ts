import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  patched,
  setHandler,
} from '@temporalio/workflow';
import { isCancelEvaluators } from '../core/evaluation-signals';
import { ENDED_WITH_ITS_RUN } from '../core/run';
import { identityOf } from '../core/same-evaluation';
import { evaluatorFor } from './activities';
import type { CellResult, EvaluateCheckpointInput, EvaluationFinished } from './contracts';
import { cancelEvaluatorsSignal, cellsFinishedSignal, evaluationFinishedSignal } from './contracts';
import { failureMessage, isTimedOut } from './training/failures';

/** What is final for this long while others go on is told before them; evaluators that end together are told together. */
const TOLD_EARLY_AFTER = '5 seconds';

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
  private readonly toldEarly = new Set<string>();

  constructor(private readonly input: EvaluateCheckpointInput) {}

  async evaluate(): Promise<readonly CellResult[]> {
    const early = CancellationScope.nonCancellable(() => this.tellEarly());
    const results = await Promise.all(this.input.evaluators.map((name) => this.evaluateOne(name)));
    await early;
    return results;
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
      return { error: `it was not done within its budget of ${seconds} seconds, all its attempts together` };
    }
    return { error: isCancellation(error) ? ENDED_WITH_ITS_RUN : failureMessage(error) };
  }

  private get isDone(): boolean {
    return this.final.size === this.input.evaluators.length;
  }

  /** Cells that have been final for some time while others go on: one that hangs withholds no other's scores. */
  private async tellEarly(): Promise<void> {
    for (;;) {
      await condition(() => this.isDone || this.untold.length > 0);
      if (this.isDone || !patched('cells-are-told-early')) return;
      if (await condition(() => this.isDone, TOLD_EARLY_AFTER)) return;
      const cells = this.untold;
      for (const { evaluator } of cells) this.toldEarly.add(evaluator);
      if (cells.length > 0)
        await tellParent(this.input, { ...identityOf(this.input), cells }, cellsFinishedSignal);
    }
  }

  /** Final cells that the run has not heard of. */
  private get untold(): CellResult[] {
    return [...this.final.values()].filter(
      ({ evaluator }) => !this.toldEarly.has(evaluator) && !this.isToldInParts(evaluator),
    );
  }

  private isToldInParts(name: string): boolean {
    const parts = (this.input.parts ?? []).filter(({ evaluators }) => evaluators.includes(name));
    const isFinal = (each: string) => this.final.has(each);
    return parts.length > 0 && parts.every(({ evaluators }) => evaluators.every(isFinal));
  }

  /** Schedules whose evaluators are all final, while others go on. */
  private async tellOfParts(name: string): Promise<void> {
    const { parts = [] } = this.input;
    if (this.isDone) return;
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
  signal = evaluationFinishedSignal,
): Promise<void> {
  try {
    // Without a run id, so that it reaches whichever execution of the run lives.
    await getExternalWorkflowHandle(parentWorkflowId).signal(signal, told);
  } catch (error) {
    log.warn('the training run could not be told', { run, reason: failureMessage(error) });
  }
}
