import { CancellationScope, isCancellation, log, sleep } from '@temporalio/workflow';
import type { ModelIncarnation, OpenedModel } from '../../core/training-plan';
import { keeper, trainer } from '../activities';
import type { TrainingInput } from '../contracts';
import { failureCode, failureMessage } from './failures';
import { mustGoOnAnew } from './long-history';
import type { TrainingState } from './training-state';
import { rememberEvent, rememberLife, rememberRemarks } from './training-state';

/** What the run waits for, and shows. */
export const WAITED_FOR: readonly string[] = ['unreachable', 'engine-busy', 'store-full'];

/**
 * The run's model at the training service: opened once, kept alive, opened again from the last checkpoint
 * when it is lost.
 */
export class OpenModel {
  private keeping: CancellationScope | null = null;

  constructor(
    private readonly state: TrainingState,
    private readonly input: Pick<TrainingInput, 'maxHistoryEvents'>,
  ) {}

  /**
   * The open model; opens it if the run has none. An unreachable service is waited for and shown in the status; null when
   * the run has to go on in a new execution before it answered.
   */
  async current(): Promise<ModelIncarnation | null> {
    const { state } = this;
    for (let wait = 1; ; wait = Math.min(15, wait * 2)) {
      const { model } = state;
      if (model) {
        this.keepSession(model);
        return model;
      }
      await this.tryToOpen(wait);
      if (state.model === null && mustGoOnAnew(this.input)) return null;
    }
  }

  /** Gives the old life of the model up; the next one starts from the last checkpoint. */
  async rewind(reason: string): Promise<void> {
    this.giveUp(reason);
    await this.current();
  }

  /** The life of the model that was is over; the next one is opened when it is needed. */
  giveUp(reason: string): void {
    const { state } = this;
    log.warn('model lost', { run: state.plan.run, reason });
    rememberEvent(state, 'rewind', reason);
    state.rewinds += 1;
    this.endLife();
  }

  /** Has the service let go of a model whose state is saved where the run stands. */
  async release(): Promise<void> {
    const { state } = this;
    const { model } = state;
    if (!model) return;
    this.stopKeepingSession();
    await trainer.releaseModel({ run: state.plan.run, model });
    rememberEvent(state, 'released', 'the model was let go of; its state is saved');
    this.endLife();
    state.isReleased = true;
  }

  private endLife(): void {
    const { state } = this;
    this.stopKeepingSession();
    if (state.model) rememberLife(state, state.model.modelId);
    state.lost = state.model;
    state.model = null;
    // What this life passed on may stand in the run's folder, and another life's weights be others.
    if (state.rollouts) state.rollouts.generation = (state.rollouts.generation ?? 0) + 1;
  }

  private async tryToOpen(secondsToWait: number): Promise<void> {
    const { state } = this;
    state.segment += 1;
    try {
      await this.openOnce();
    } catch (error) {
      if (!WAITED_FOR.includes(failureCode(error) ?? '')) throw error;
      const since = state.waitingFor?.since ?? new Date().toISOString();
      if (state.waitingFor === null) rememberEvent(state, 'waiting', failureMessage(error));
      state.waitingFor = { what: failureMessage(error), since };
      state.status = 'waiting';
      await sleep(secondsToWait * 1000);
    }
  }

  private async openOnce(): Promise<void> {
    const { state } = this;
    const { lost: previous, isReleased = false } = state;
    const opened = await trainer.openModel({
      run: state.plan.run,
      incarnation: previous ? previous.incarnation + 1 : 0,
      lineage: previous ? previous.lineage + (previous.isDeterministic || isReleased ? 0 : 1) : 0,
      segment: state.segment,
      collectedThrough: state.position.collectedThrough,
      stepsReplayed: state.stepsReplayed,
      rewinds: state.rewinds,
      ...(isReleased && { isReleased }),
      previous,
    });
    for (const remark of opened.remarks) log.warn(remark, { run: state.plan.run });
    rememberRemarks(state, opened.remarks);
    noteReplay(state, opened);
    state.model = opened.model;
    state.position = opened.position;
    state.isReleased = false;
    rememberEvent(state, 'opened', openedText(opened));
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

/** What the opening costs: steps, and their tokens, that are trained again. */
function noteReplay(state: TrainingState, { position, stepsToReplay, tokensSent = 0 }: OpenedModel): void {
  const { collectedThrough, tokens } = state.position;
  if (state.isReleased && position.collectedThrough < collectedThrough) state.rewinds += 1;
  state.stepsReplayed += stepsToReplay;
  state.tokensOfRewinds =
    (state.tokensOfRewinds ?? 0) + Math.max(0, Math.max(tokens, tokensSent) - position.tokens);
}

function openedText({ model, position, stepsToReplay }: OpenedModel): string {
  const from =
    position.collectedThrough < 0 ? 'the start' : `the checkpoint of step ${position.collectedThrough}`;
  const again = stepsToReplay > 0 ? `, ${stepsToReplay} steps are trained again` : '';
  return `model opened from ${from}, life ${model.incarnation}${again}`;
}
