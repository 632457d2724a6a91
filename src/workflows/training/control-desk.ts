import { allHandlersFinished, condition, setHandler } from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import type { ControlReceipt, ControlRequest } from '../../core/controls';
import { requireControlRequest, requireStopRequest } from '../../core/controls';
import { requireBudgetRequest } from '../../core/controls/budget';
import type { EvaluationRequest } from '../../core/controls/evaluation-request';
import { requireEvaluationRequest } from '../../core/controls/evaluation-request';
import { requireLearningRateRequest } from '../../core/controls/learning-rate';
import { requirePauseRequest } from '../../core/controls/pause';
import type { PromotionRequest } from '../../core/controls/promotion';
import { requirePromotionRequest } from '../../core/controls/promotion';
import { requireScheduleRequest } from '../../core/controls/schedule-change';
import type { SettingsRequest } from '../../core/controls/settings';
import { requireSettingsRequest } from '../../core/controls/settings';
import { DomainError } from '../../core/errors';
import { bookkeeping } from '../activities';
import type { TrainingInput } from '../contracts';
import * as contracts from '../contracts';
import { usedUpLimit } from './budget-limits';
import type { Resolve, ResolvedChange } from './changes';
import * as changes from './changes';
import { evaluationTarget, promotionChange } from './checkpoint-changes';
import { asApplicationFailure } from './failures';
import { Segments } from './segments';
import { settingsChange } from './settings-change';
import type { TrainingState } from './training-state';
import { rememberControl, shownStatus } from './training-state';
import { WaitingChange } from './waiting-change';

type Changed = ResolvedChange['row'];

/** One kind of change: its shape, and what it comes to. */
interface Control<Request extends ControlRequest> {
  readonly update: UpdateDefinition<ControlReceipt, [Request]>;
  readonly requireShape: (request: unknown) => void;
  readonly resolve: Resolve<Request>;
}

/**
 * Takes changes people make while the run goes on.
 *
 * A change is made at a boundary between segments, so that it affects no step that was sent: the segment under way is
 * asked to hand over. The caller hears the step it takes effect at once that is sure and written to `controls.jsonl`.
 * What makes no sense whatever happens until then is refused before it is taken.
 */
export class ControlDesk {
  readonly segments = new Segments(() => {
    this.makeChanges();
  });
  private readonly waiting: Pick<WaitingChange<ResolvedChange>, 'make' | 'refuse'>[] = [];
  private isWriting = false;
  private isClosed = false;
  private isHandingOver = false;

  constructor(
    private readonly input: TrainingInput,
    private readonly current: { readonly state: TrainingState | null },
  ) {
    const { learningRate } = input.config;
    this.take({
      update: contracts.stopUpdate,
      requireShape: requireStopRequest,
      resolve: changes.stopChange,
    });
    this.take({
      update: contracts.pauseUpdate,
      requireShape: requirePauseRequest,
      resolve: changes.pauseChange,
    });
    this.take({
      update: contracts.resumeUpdate,
      requireShape: requireControlRequest,
      resolve: changes.resumeChange,
    });
    this.take({
      update: contracts.handOverUpdate,
      requireShape: requireControlRequest,
      resolve: changes.handOverChange,
    });
    this.take({
      update: contracts.setLearningRateUpdate,
      requireShape: requireLearningRateRequest,
      resolve: changes.learningRateChange(learningRate),
    });
    this.take({
      update: contracts.setEvalScheduleUpdate,
      requireShape: requireScheduleRequest,
      resolve: changes.scheduleChange,
    });
    this.take({
      update: contracts.setBudgetUpdate,
      requireShape: requireBudgetRequest,
      resolve: changes.budgetChange,
    });
    this.takeSettings(settingsChange(learningRate));
    this.takeOthers();
  }

  /** Refuses what can no longer be done, and waits until everybody who asked has an answer. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.makeChanges();
    await condition(allHandlersFinished, '1 minute');
  }

  /** A new execution waits until everybody has an answer; those who wait for the last step would hold it up. */
  handOver(): void {
    this.isHandingOver = true;
  }

  /** A pause has lasted as long as it was meant to. */
  async endPause(): Promise<void> {
    const state = await this.prepared();
    const { pause } = state;
    if (!pause) return;
    if (pause.after) {
      state.pause = pause.after;
      return;
    }
    const request = { by: 'deadline', reason: `paused for ${pause.seconds ?? 0} s`, atStep: null };
    const usedUp = usedUpLimit(state);
    if (pause.then === 'resume' && usedUp !== null) {
      state.pause = { ...pause, seconds: null, by: 'budget', reason: usedUp };
      return;
    }
    const { row, apply } =
      pause.then === 'stop' ? changes.stopChange(request, state) : changes.resumeChange(request, state);
    apply();
    await this.record(state, request, row);
  }

  /** A limit is reached: what is under way is finished, and no more is sent until somebody raises it. */
  async pauseFor(usedUp: string): Promise<void> {
    const state = await this.prepared();
    const who = { by: 'budget', reason: usedUp };
    const request = { ...who, atStep: null, seconds: null, then: 'resume' as const };
    const { row, apply } = changes.budgetPause(request, state);
    apply();
    await this.record(state, request, row);
  }

  private take<Request extends ControlRequest>({ update, requireShape, resolve }: Control<Request>): void {
    setHandler(update, (request: Request) => this.perform(request, resolve), {
      validator: (request: Request) => {
        requireShape(request);
        this.refuseEarly(request, resolve);
      },
    });
  }

  private takeSettings(resolve: ReturnType<typeof settingsChange>): void {
    setHandler(contracts.setUpdate, (request) => this.performTogether(request, resolve), {
      validator: (request: SettingsRequest) => {
        requireSettingsRequest(request);
        this.refuseEarly(request, resolve);
      },
    });
  }

  private takeOthers(): void {
    setHandler(contracts.runEvaluationUpdate, (request) => this.runEvaluation(request), {
      validator: (request: EvaluationRequest) => {
        requireEvaluationRequest(request);
        const { state } = this.current;
        if (state) changes.knownEvaluators(request, state);
      },
    });
    setHandler(contracts.promoteUpdate, (request) => this.promote(request), {
      validator: requirePromotionRequest,
    });
    setHandler(contracts.explainCancelUpdate, (request) => this.explainCancel(request), {
      validator: requireControlRequest,
    });
  }

  /** What was sent is never taken back, so what comes too late now will still do so at the boundary. */
  private refuseEarly<Request>(
    request: Request,
    resolve: (request: Request, state: TrainingState) => unknown,
  ): void {
    const { state } = this.current;
    if (this.isClosed) throw ended();
    if (state && this.waiting.length === 0) resolve(request, state);
  }

  private async runEvaluation(request: EvaluationRequest): Promise<ControlReceipt> {
    const state = await this.prepared();
    try {
      const resolve = await evaluationTarget(request, state, () => this.isClosed || this.isHandingOver);
      return await this.perform(request, resolve);
    } catch (error) {
      throw asApplicationFailure(error);
    }
  }

  private async promote(request: PromotionRequest): Promise<ControlReceipt> {
    const state = await this.prepared();
    try {
      const { row, apply } = await promotionChange(request, state);
      apply();
      return await this.record(state, request, row);
    } catch (error) {
      throw asApplicationFailure(error);
    }
  }

  /** Notes why the run is about to be cancelled; the server's own request has no room for that. */
  private async explainCancel(request: ControlRequest): Promise<ControlReceipt> {
    const state = await this.prepared();
    state.cancelReason = request.reason;
    const step = Math.max(0, state.position.collectedThrough);
    await this.record(state, request, { control: 'cancel', step, from: shownStatus(state), to: 'cancelled' });
    return { control: 'cancel', step };
  }

  private async perform<Request extends ControlRequest>(
    request: Request,
    resolve: Resolve<Request>,
  ): Promise<ControlReceipt> {
    const { state, change } = await this.atBoundary((at) => resolve(request, at));
    return this.record(state, request, change.row);
  }

  /** All are made at one boundary; their rows follow one another. */
  private async performTogether(
    request: SettingsRequest,
    resolve: ReturnType<typeof settingsChange>,
  ): Promise<ControlReceipt[]> {
    const { state, change } = await this.atBoundary((at) => resolve(request, at));
    const receipts: ControlReceipt[] = [];
    for (const row of change.rows) receipts.push(await this.record(state, request, row));
    return receipts;
  }

  private async atBoundary<Change extends Pick<ResolvedChange, 'apply'>>(
    resolve: (state: TrainingState) => Change,
  ): Promise<{ readonly state: TrainingState; readonly change: Change }> {
    const waiting = new WaitingChange(resolve);
    this.waiting.push(waiting);
    const state = await this.prepared();
    if (this.segments.isUnderWay) this.segments.interrupt();
    else this.makeChanges();
    await condition(() => waiting.outcome !== null);
    const { outcome } = waiting;
    if (!outcome || 'error' in outcome) throw asApplicationFailure(outcome?.error);
    return { state, change: outcome.change };
  }

  private async prepared(): Promise<TrainingState> {
    await condition(() => this.current.state !== null || this.isClosed);
    const { state } = this.current;
    if (!state) throw asApplicationFailure(ended());
    return state;
  }

  private makeChanges(): void {
    const { state } = this.current;
    if (!state) return;
    for (const waiting of this.waiting.splice(0)) {
      if (this.isClosed) waiting.refuse(ended());
      else waiting.make(state);
    }
  }

  /** Writes a change into the run's record and for queries. */
  async record(
    state: TrainingState,
    { by, reason }: ControlRequest,
    changed: Changed,
  ): Promise<ControlReceipt> {
    // Several who wait are woken together, and one of them goes first.
    do await condition(() => !this.isWriting);
    while (this.isWriting);
    this.isWriting = true;
    // Rows are told apart by their time, so that two that came together must not have the same.
    const row = { at: new Date().toISOString(), by, reason, ...changed };
    rememberControl(state, row);
    state.controlWrites = (state.controlWrites ?? 0) + 1;
    try {
      await bookkeeping.recordControl({ run: this.input.run, write: state.controlWrites, row });
    } finally {
      this.isWriting = false;
    }
    return changed;
  }
}

function ended(): DomainError {
  return new DomainError('refused', 'The run has ended; nothing can be changed any more.');
}
