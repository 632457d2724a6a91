import { CancellationScope, isCancellation, log, sleep } from '@temporalio/workflow';
import { keeper, trainer } from '../activities';
import { failureCode, failureMessage } from './failures';
import type { TrainingState } from './training-state';

/**
 * The run's model at the training service: opened once, kept alive, opened again from the last checkpoint
 * when it is lost.
 */
export class OpenModel {
  private keeping: CancellationScope | null = null;

  constructor(private readonly state: TrainingState) {}

  /** Opens the model if the run has none. An unreachable service is waited for and shown in the status. */
  async open(): Promise<void> {
    const { state } = this;
    for (let wait = 1; !state.model; wait = Math.min(15, wait * 2)) {
      state.segment += 1;
      try {
        await this.openOnce();
      } catch (error) {
        if (failureCode(error) !== 'unreachable') throw error;
        state.waitingFor ??= { what: failureMessage(error), since: new Date().toISOString() };
        state.status = 'waiting';
        await sleep(wait * 1000);
      }
    }
    await this.keepSession();
  }

  /** Gives the old life of the model up and starts the next one from the last checkpoint. */
  async rewind(): Promise<void> {
    const { state } = this;
    this.stopKeepingSession();
    state.rewinds += 1;
    state.lost = state.model;
    state.model = null;
    await this.open();
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
      previous,
    });
    for (const remark of opened.remarks) log.warn(remark, { run: state.plan.run });
    state.stepsReplayed += opened.stepsToReplay;
    state.model = opened.model;
    state.position = opened.position;
    state.waitingFor = null;
    state.status = 'running';
  }

  /** A keeper that ends tells nothing new: the next segment meets the lost session itself. */
  async keepSession(): Promise<void> {
    const { model } = this.state;
    if (!model || this.keeping) return;
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
