import { CancellationScope, condition, log, setHandler } from '@temporalio/workflow';
import { isEvaluationFinished } from '../../core/evaluation-signals';
import { isSameEvaluation } from '../../core/same-evaluation';
import type { Snapshot } from '../../core/training-plan';
import { bookkeeping } from '../activities';
import type { TrainingInput } from '../contracts';
import { cellsFinishedSignal, evaluationFinishedSignal } from '../contracts';
import { remainingOf } from './early-cells';
import {
  cancelEvaluations,
  cellsOf,
  nextAttempt,
  requestedEvaluation,
  startEvaluation,
  termsOf,
} from './evaluation-children';
import * as queue from './evaluation-queue';
import { mustGoOnAnew } from './long-history';
import { RequestedEvaluations } from './requested-evaluations';
import type { ScoreDesk } from './score-desk';
import type { PendingEvaluation, TrainingState } from './training-state';
import { rememberCells, schedulesOf } from './training-state';

const RECONCILE_EVERY = '30 seconds';

/**
 * Starts evaluations of snapshots and hears of their results.
 *
 * Children outlive the run's executions (parent-close policy ABANDON) and tell by signal; a child that was
 * terminated never tells, so what is pending is reconciled with the server and the store from time to time.
 */
export class EvaluationDesk {
  /** Snapshots of a run that is being cancelled: nobody will measure them. */
  private readonly declined: Snapshot[] = [];
  private startingCount = 0;
  private isAbandoned = false;
  private isReconciling = false;
  private broken: Error | null = null;

  constructor(
    private readonly input: TrainingInput,
    private readonly current: { readonly state: TrainingState | null },
    private readonly scores: ScoreDesk,
  ) {
    setHandler(evaluationFinishedSignal, (finished) => {
      if (isEvaluationFinished(finished)) this.scores.take(finished);
      else log.warn('a signal evaluationFinished that no evaluation sends was passed over');
    });
    setHandler(cellsFinishedSignal, (cells) => {
      if (isEvaluationFinished(cells)) this.scores.takeEarly(cells);
      else log.warn('a signal cellsFinished that no evaluation sends was passed over');
    });
  }

  /** Begins to write scores as they come in, and asks about what an earlier execution left pending. */
  open(): void {
    // What evaluations of a cancelled run have to tell is heard as well.
    void CancellationScope.nonCancellable(() => this.guard(() => this.scores.write(() => this.state)));
    void CancellationScope.nonCancellable(() => this.startRequests());
    void CancellationScope.nonCancellable(() => this.startQueued());
    void CancellationScope.nonCancellable(() => this.watchQueue());
    if (this.state.pending.length > 0) void this.guard(() => this.reconcile());
  }

  /** Starts the evaluations of new snapshots; those a rewind made again are already started. */
  async start(snapshots: readonly Snapshot[]): Promise<void> {
    if (CancellationScope.current().consideredCancelled) {
      this.decline(snapshots);
      return;
    }
    for (const snapshot of snapshots) {
      this.requests.take(snapshot);
      if (snapshot.schedules.length === 0 || snapshot.step <= this.state.evaluatedThrough) continue;
      this.state.evaluatedThrough = snapshot.step;
      await this.startOne(snapshot);
    }
  }

  decline(snapshots: readonly Snapshot[]): void {
    this.declined.push(...snapshots);
  }

  /** Holds training until the evaluations of blocking schedules are final, or until a new execution has to hold it. */
  async waitForBlocking(): Promise<void> {
    await this.until(() => !this.isHoldingTraining);
  }

  get isHoldingTraining(): boolean {
    return this.state.pending.some(({ isBlocking }) => isBlocking);
  }

  /** Waits until every evaluation is final and every score is written; false when a new execution has to wait on. */
  async finish(): Promise<boolean> {
    return this.until(() => this.state.pending.length === 0 && this.requests.isEmpty && this.isSettled());
  }

  /** Waits until what has come in is written and others are done too, so that nothing is lost when the history is cut. */
  async settle(areOthersDone: () => boolean): Promise<void> {
    await condition(() => (this.isSettled() && areOthersDone()) || this.broken !== null);
    this.throwIfBroken();
  }

  /** Cancels what is pending, gives it a moment to end, and lets go of snapshots nobody will measure. */
  async abandon(): Promise<void> {
    this.isAbandoned = true;
    this.scores.silenceGates();
    this.decline(this.requests.snapshots());
    this.declineQueued();
    await cancelEvaluations(this.current.state?.pending ?? []);
    await condition(
      () => (this.current.state?.pending.length ?? 0) === 0 || this.broken !== null,
      '30 seconds',
    );
    const { run } = this.input;
    if (this.declined.length > 0) await bookkeeping.releaseSnapshots({ run, evaluations: this.declined });
  }

  /** What waits for its turn has no workflow that could be cancelled. */
  private declineQueued(): void {
    const { state } = this.current;
    if (!state) return;
    this.decline(state.pending.filter(({ isQueued }) => isQueued));
    state.pending = state.pending.filter(({ isQueued }) => !isQueued);
  }

  get isBroken(): boolean {
    return this.broken !== null;
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
    return (
      this.scores.isIdle &&
      this.startingCount === 0 &&
      !this.requests.canStart &&
      queue.nextQueued(this.state) === null
    );
  }

  private get requests(): RequestedEvaluations {
    return new RequestedEvaluations(this.current.state);
  }

  /** False when the run has to go on in a new execution before it is reached. */
  private async until(isReached: () => boolean): Promise<boolean> {
    while (!(await condition(() => isReached() || this.broken !== null, RECONCILE_EVERY))) {
      await this.reconcile();
      if (mustGoOnAnew(this.input)) return false;
    }
    this.throwIfBroken();
    return true;
  }

  private async startOne(snapshot: Snapshot): Promise<void> {
    const { state, lineage } = this;
    const { pending: parts, schedules, cancels } = queue.admitSnapshot(state, this.input.run, snapshot);
    for (const part of parts) {
      state.pending.push(part.isQueued ? { ...part, lineage } : part);
      rememberCells(state, cellsOf(part, schedules, state.cells));
      queue.noteSkipped(state, part);
    }
    await queue.makeRoom(state, snapshot.step, cancels);
    for (const part of parts) {
      if (part.evaluators.length === 0) this.scores.take({ step: part.step, cells: [] });
      else if (!part.isQueued) await this.startChild(part, lineage);
    }
  }

  private async startChild(pending: PendingEvaluation, lineage: number): Promise<void> {
    const terms = pending.request === undefined ? termsOf(pending, this.schedulesIn(pending)) : {};
    this.startingCount += 1;
    try {
      await startEvaluation(this.input.run, pending, { lineage, terms });
    } finally {
      this.startingCount -= 1;
    }
  }

  private schedulesIn({ step, schedules }: PendingEvaluation) {
    return schedulesOf(this.state, step).filter(({ name }) => schedules.includes(name));
  }

  /** Starts evaluations that wait for earlier ones of their schedules, one after the other. */
  private async startQueued(): Promise<void> {
    await this.guard(async () => {
      for (;;) {
        await condition(() => this.hasNextQueued);
        const waiting = queue.nextQueued(this.state);
        if (!waiting) continue;
        const pending = { ...waiting, isQueued: false };
        this.state.pending = this.state.pending.map((one) => (one === waiting ? pending : one));
        rememberCells(this.state, cellsOf(pending, this.schedulesIn(pending), this.state.cells));
        await this.startChild(pending, pending.lineage ?? this.lineage);
      }
    });
  }

  private get hasNextQueued(): boolean {
    return !this.isAbandoned && queue.nextQueued(this.state) !== null;
  }

  /** One that was terminated never tells, and others would wait for it. */
  private async watchQueue(): Promise<void> {
    const hasQueued = () => !this.isAbandoned && this.state.pending.some(({ isQueued }) => isQueued);
    await this.guard(async () => {
      for (;;) {
        await condition(hasQueued);
        if (!(await condition(() => !hasQueued(), RECONCILE_EVERY))) await this.reconcile();
      }
    });
  }

  /** Starts what people ask for as soon as there is something to measure, and no other evaluation of the cell goes on. */
  private async startRequests(): Promise<void> {
    const { run } = this.input;
    await this.guard(async () => {
      for (;;) {
        await condition(() => this.requests.canStart && !this.isAbandoned);
        const next = this.requests.takeNext();
        if (!next) continue;
        const pending = requestedEvaluation(run, next.evaluation, next.snapshot);
        this.state.pending.push(pending);
        rememberCells(this.state, cellsOf(pending, [], this.state.cells));
        await this.startChild(pending, next.snapshot.lineage);
      }
    });
  }

  private get lineage(): number {
    return this.state.model?.lineage ?? this.state.lost?.lineage ?? 0;
  }

  /** Asks the server which pending evaluations still run, and takes finished ones from the store. */
  private async reconcile(): Promise<void> {
    if (this.isReconciling) return;
    this.isReconciling = true;
    const pending = this.state.pending
      .filter(({ isQueued }) => !isQueued)
      .map((one) => ({ ...one, evaluators: remainingOf(one) }));
    const outcomes = await bookkeeping.reconcileEvaluations({ run: this.input.run, pending });
    for (const outcome of outcomes) {
      if (outcome.finished) this.scores.take(outcome.finished);
      else if (outcome.isGone) await this.startAgain(outcome);
    }
    this.isReconciling = false;
  }

  private async startAgain(gone: { readonly step: number; readonly request?: number }): Promise<void> {
    const old = this.state.pending.find((pending) => isSameEvaluation(pending, gone));
    if (!old) return;
    const next = nextAttempt(this.input.run, old);
    this.state.pending = this.state.pending.map((pending) => (pending === old ? next : pending));
    await this.startChild(next, this.lineage);
  }

  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.broken = error instanceof Error ? error : new Error(String(error));
    }
  }
}
