import { CancellationScope, isCancellation, log, sleep } from '@temporalio/workflow';
import type { ModelIncarnation } from '../../core/training-plan';
import { keeper, trainer } from '../activities';
import { failureCode, failureMessage } from './failures';
import type { TrainingState } from './training-state';
import { rememberLife, rememberRemarks } from './training-state';

/** What the run waits for, and shows. */
const WAITED_FOR: readonly string[] = ['unreachable', 'engine-busy', 'store-full'];

/**
 * The run's model at the training service: opened once, kept alive, opened again from the last checkpoint
 * when it is lost.
 */
export class OpenModel {
  private keeping: CancellationScope | null = null;

  constructor(private readonly state: TrainingState) {}

  /** The open model; opens it if the run has none. An unreachable service is waited for and shown in the status. */
  async current(): Promise<ModelIncarnation> {
    const { state } = this;
    for (let wait = 1; ; wait = Math.min(15, wait * 2)) {
      const { model } = state;
      if (model) {
        this.keepSession(model);
        return model;
      }
      await this.tryToOpen(wait);
    }
  }

  /** Gives the old life of the model up; the next one starts from the last checkpoint. */
  async rewind(reason: string): Promise<void> {
    const { state } = this;
    log.warn('model lost', { run: state.plan.run, reason });
    this.stopKeepingSession();
    state.rewinds += 1;
    if (state.model) rememberLife(state, state.model.modelId);
    state.lost = state.model;
    state.model = null;
    await this.current();
  }

  private async tryToOpen(secondsToWait: number): Promise<void> {
    const { state } = this;
    state.segment += 1;
    try {
      await this.openOnce();
    } catch (error) {
      if (!WAITED_FOR.includes(failureCode(error) ?? '')) throw error;
      const since = state.waitingFor?.since ?? new Date().toISOString();
      state.waitingFor = { what: failureMessage(error), since };
      state.status = 'waiting';
      await sleep(secondsToWait * 1000);
    }
  }

  private async openOnce(): Promise<void> {
    const { state } = this;
    const previous = state.lost;
    const opened = await trainer.openModel({
      run: state.plan.run,
      incarnation: previous ? previous.incarnation + 1 : 0,
      lineage: previous ? previous.lineage + (previous.isDeterministic ? 0 : 1) : 0,
      segment: state.segment,
      collectedThrough: state.position.collectedThrough,
      stepsReplayed: state.stepsReplayed,
      previous,
    });
    for (const remark of opened.remarks) log.warn(remark, { run: state.plan.run });
    rememberRemarks(state, opened.remarks);
    state.stepsReplayed += opened.stepsToReplay;
    state.model = opened.model;
    state.position = opened.position;
    state.waitingFor = null;
    state.status = 'running';
  }

  /** A keeper that ends tells nothing new: the next segment meets the lost session itself. */
  private keepSession(model: ModelIncarnation): void {
    if (this.keeping) return;
    const scope = new CancellationScope();
    this.keeping = scope;
    void scope.run(async () => {
      try {
        await keeper.keepSession({ run: this.state.plan.run, model });
      } catch (error) {
        if (!isCancellation(error)) log.warn('session keeper ended', { reason: failureMessage(error) });
      }
    });
  }

  stopKeepingSession(): void {
    this.keeping?.cancel();
    this.keeping = null;
  }
}
