import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  setHandler,
  startChild,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { ScoreRow } from '../../core/run';
import type { EvaluationSchedule } from '../../core/schedules/evaluation-schedule';
import { WORKFLOW_TASK_TIMEOUT } from '../../core/task-queues';
import type { Snapshot } from '../../core/training-plan';
import { bookkeeping } from '../activities';
import type { EvaluationFinished, TrainSupervisedInput } from '../contracts';
import { evaluationFinishedSignal } from '../contracts';
import { evaluateCheckpoint } from '../evaluate-checkpoint';
import { failureMessage } from './failures';
import type { PendingEvaluation, TrainingState } from './training-state';
import { rememberCells, rememberScores } from './training-state';

const RECONCILE_EVERY = '30 seconds';

/**
 * Starts evaluations of snapshots, hears of their results and has the scores written.
 *
 * Children outlive the run's executions (parent-close policy ABANDON) and tell by signal; a child that was
 * terminated never tells, so what is pending is reconciled with the server and the store from time to time.
 */
export class EvaluationDesk {
  private readonly inbox: EvaluationFinished[] = [];
  /** Snapshots of a run that is being cancelled: nobody will measure them. */
  private readonly declined: Snapshot[] = [];
  private isWriting = false;
  private broken: Error | null = null;

  constructor(
    private readonly input: TrainSupervisedInput,
    private readonly current: { readonly state: TrainingState | null },
  ) {
    setHandler(evaluationFinishedSignal, (finished) => {
      this.inbox.push(finished);
    });
  }

  /** Begins to write scores as they come in, and asks about what an earlier execution left pending. */
  open(): void {
    // What evaluations of a cancelled run have to tell is heard as well.
    void CancellationScope.nonCancellable(() => this.writeScores());
    if (this.state.pending.length > 0) void this.guard(() => this.reconcile());
  }

  /** Starts the evaluations of new snapshots; those a rewind made again are already started. */
  async start(snapshots: readonly Snapshot[]): Promise<void> {
    if (CancellationScope.current().consideredCancelled) {
      this.decline(snapshots);
      return;
    }
    for (const snapshot of snapshots) {
      if (snapshot.step <= this.state.evaluatedThrough) continue;
      this.state.evaluatedThrough = snapshot.step;
      await this.startOne(snapshot);
    }
  }

  decline(snapshots: readonly Snapshot[]): void {
    this.declined.push(...snapshots);
  }

  /** Holds training until the evaluations of blocking schedules are final. */
  async waitForBlocking(): Promise<void> {
    await this.until(() => !this.state.pending.some(({ isBlocking }) => isBlocking));
  }

  /** Waits until every evaluation is final and every score is written. */
  async finish(): Promise<void> {
    await this.until(() => this.state.pending.length === 0 && this.isSettled());
  }

  /** Waits until what has come in is written, so that nothing is lost when the history is cut. */
  async settle(): Promise<void> {
    await condition(() => this.isSettled() || this.broken !== null);
    this.throwIfBroken();
  }

  /** Cancels what is pending, gives it a moment to end, and lets go of snapshots nobody will measure. */
  async abandon(): Promise<void> {
    const pending = this.current.state?.pending ?? [];
    for (const { workflowId } of pending) {
      try {
        await getExternalWorkflowHandle(workflowId).cancel();
      } catch (error) {
        log.warn('evaluation not cancelled', { workflowId, reason: failureMessage(error) });
      }
    }
    await condition(
      () => (this.current.state?.pending.length ?? 0) === 0 || this.broken !== null,
      '30 seconds',
    );
    const { run } = this.input;
    if (this.declined.length > 0) await bookkeeping.releaseSnapshots({ run, evaluations: this.declined });
  }

  throwIfBroken(): void {
    if (this.broken !== null) throw this.broken;
  }

  private get state(): TrainingState {
    const { state } = this.current;
    if (!state) throw new TypeError('The evaluation desk opens after the run is prepared.');
    return state;
  }

  private isSettled(): boolean {
    return this.inbox.length === 0 && !this.isWriting;
  }

  private async until(isReached: () => boolean): Promise<void> {
    while (!(await condition(() => isReached() || this.broken !== null, RECONCILE_EVERY))) {
      await this.reconcile();
    }
    this.throwIfBroken();
  }

  private async startOne(snapshot: Snapshot): Promise<void> {
    const { run } = this.input;
    const schedules = this.state.plan.evaluations.filter(({ name }) => snapshot.schedules.includes(name));
    const evaluators = [...new Set(schedules.flatMap((schedule) => schedule.evaluators))];
    if (evaluators.length === 0) return;
    const pending: PendingEvaluation = {
      step: snapshot.step,
      attempt: 1,
      workflowId: `eval/${run}/${snapshot.step}`,
      samplerPath: snapshot.samplerPath,
      isCheckpoint: snapshot.isCheckpoint,
      evaluators,
      schedules: snapshot.schedules,
      isBlocking: schedules.some(({ mode }) => mode === 'blocking'),
    };
    this.state.pending.push(pending);
    rememberCells(this.state, cellsOf(pending, schedules));
    await this.startChildOf(pending);
  }

  private async startChildOf(pending: PendingEvaluation): Promise<void> {
    const { run } = this.input;
    try {
      await startChild(evaluateCheckpoint, {
        workflowId: pending.workflowId,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        args: [
          {
            run,
            step: pending.step,
            attempt: pending.attempt,
            lineage: this.state.model?.lineage ?? 0,
            samplerPath: pending.samplerPath,
            evaluators: pending.evaluators,
            parentWorkflowId: `train/${run}`,
          },
        ],
      });
    } catch (error) {
      // It runs already, or ran: reconciling finds out which.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  private async writeScores(): Promise<void> {
    await this.guard(async () => {
      for (;;) {
        await condition(() => this.inbox.length > 0);
        this.isWriting = true;
        await this.write(this.inbox.splice(0));
        this.isWriting = false;
      }
    });
  }

  private async write(finished: readonly EvaluationFinished[]): Promise<void> {
    const { state } = this;
    const steps = new Set(finished.map(({ step }) => step));
    const settled = state.pending.filter(({ step }) => steps.has(step));
    state.scoreWrites += 1;
    const rows = await bookkeeping.recordScores({
      run: this.input.run,
      write: state.scoreWrites,
      finished,
      schedules: state.plan.evaluations,
      evaluations: settled,
    });
    this.close(settled, rows);
  }

  private close(settled: readonly PendingEvaluation[], rows: readonly ScoreRow[]): void {
    const { state } = this;
    state.pending = state.pending.filter((pending) => !settled.some(({ step }) => step === pending.step));
    rememberScores(state, rows);
    for (const { step, evaluators, schedules } of settled) {
      const cells = evaluators.map((evaluator) => {
        const failed = rows.find((row) => row.step === step && row.evaluator === evaluator && row.error);
        const cell = { step, evaluator, schedules };
        return failed?.error === undefined
          ? { ...cell, status: 'done' as const }
          : { ...cell, status: 'failed' as const, error: failed.error };
      });
      rememberCells(state, cells);
    }
  }

  /** Asks the server which pending evaluations still run, and takes finished ones from the store. */
  private async reconcile(): Promise<void> {
    const { pending } = this.state;
    const outcomes = await bookkeeping.reconcileEvaluations({ run: this.input.run, pending });
    for (const outcome of outcomes) {
      if (outcome.finished) this.inbox.push(outcome.finished);
      else if (outcome.isGone) await this.startAgain(outcome.step);
    }
  }

  private async startAgain(step: number): Promise<void> {
    const old = this.state.pending.find((pending) => pending.step === step);
    if (!old) return;
    const attempt = old.attempt + 1;
    const next = { ...old, attempt, workflowId: `eval/${this.input.run}/${step}/${attempt}` };
    this.state.pending = this.state.pending.map((pending) => (pending === old ? next : pending));
    await this.startChildOf(next);
  }

  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.broken = error instanceof Error ? error : new Error(String(error));
    }
  }
}

function cellsOf(pending: PendingEvaluation, schedules: readonly EvaluationSchedule[]) {
  return pending.evaluators.map((evaluator) => ({
    step: pending.step,
    evaluator,
    schedules: schedules
      .filter((schedule) => schedule.evaluators.includes(evaluator))
      .map(({ name }) => name),
    status: 'running' as const,
  }));
}
