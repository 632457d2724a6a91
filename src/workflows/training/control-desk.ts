import { allHandlersFinished, condition, setHandler } from '@temporalio/workflow';
import { ApplicationFailure } from '@temporalio/common';
import type { ControlReceipt, ControlRequest, ControlRow, StopRequest } from '../../core/controls';
import { requireControlRequest, requireStopRequest, resolveStop } from '../../core/controls';
import { DomainError } from '../../core/errors';
import { bookkeeping } from '../activities';
import type { TrainSupervisedInput } from '../contracts';
import { explainCancelUpdate, stopUpdate } from '../contracts';
import { Segments } from './segments';
import type { TrainingState } from './training-state';
import { lastStepOf, sentThroughOf } from './training-state';

/** Makes a change and says what it comes to. Throws a DomainError to refuse it. */
type Change = (state: TrainingState) => Pick<ControlRow, 'control' | 'step' | 'from' | 'to'>;

type Changed = ReturnType<Change>;

interface Waiting {
  readonly change: Change;
  outcome: { readonly changed: Changed } | { readonly error: unknown } | null;
}

/**
 * Takes changes people make while the run goes on.
 *
 * A change is made at a boundary between segments, so that it affects no step that was sent: the segment under way is
 * asked to hand over. The caller hears the step it takes effect at once that is sure and written to `controls.jsonl`.
 */
export class ControlDesk {
  readonly segments = new Segments(() => {
    this.makeChanges();
  });
  private readonly waiting: Waiting[] = [];
  private isWriting = false;
  private isClosed = false;

  constructor(
    private readonly input: TrainSupervisedInput,
    private readonly current: { readonly state: TrainingState | null },
  ) {
    setHandler(stopUpdate, (request) => this.stop(request), { validator: requireStopRequest });
    setHandler(explainCancelUpdate, (request) => this.explainCancel(request), {
      validator: requireControlRequest,
    });
  }

  /** Refuses what can no longer be done, and waits until everybody who asked has an answer. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.makeChanges();
    await condition(allHandlersFinished, '1 minute');
  }

  private async stop(request: StopRequest): Promise<ControlReceipt> {
    return this.perform(request, (state) => {
      const from = lastStepOf(state);
      const step = resolveStop(request, {
        sentThrough: sentThroughOf(state),
        lastStep: from,
        totalSteps: state.plan.totalSteps,
      });
      state.stop = step < state.plan.totalSteps ? { step, reason: request.reason } : null;
      return { control: 'stop', step, from, to: step };
    });
  }

  /** Notes why the run is about to be cancelled; the server's own request has no room for that. */
  private async explainCancel(request: ControlRequest): Promise<ControlReceipt> {
    const state = await this.prepared();
    state.cancelReason = request.reason;
    const step = Math.max(0, state.position.collectedThrough);
    await this.record(state, request, { control: 'cancel', step, from: state.status, to: 'cancelled' });
    return { control: 'cancel', step };
  }

  private async perform(request: ControlRequest, change: Change): Promise<ControlReceipt> {
    const waiting: Waiting = { change, outcome: null };
    this.waiting.push(waiting);
    const state = await this.prepared();
    if (this.segments.isUnderWay) this.segments.interrupt();
    else this.makeChanges();
    await condition(() => waiting.outcome !== null);
    const { outcome } = waiting;
    if (!outcome || 'error' in outcome) throw asFailure(outcome?.error);
    await this.record(state, request, outcome.changed);
    return { control: outcome.changed.control, step: outcome.changed.step };
  }

  private async prepared(): Promise<TrainingState> {
    await condition(() => this.current.state !== null || this.isClosed);
    const { state } = this.current;
    if (!state) throw asFailure(ended());
    return state;
  }

  private makeChanges(): void {
    const { state } = this.current;
    if (!state) return;
    for (const waiting of this.waiting.splice(0)) {
      try {
        if (this.isClosed) throw ended();
        waiting.outcome = { changed: waiting.change(state) };
      } catch (error) {
        waiting.outcome = { error };
      }
    }
  }

  private async record(
    state: TrainingState,
    { by, reason }: ControlRequest,
    changed: Changed,
  ): Promise<void> {
    const row = { at: new Date().toISOString(), by, reason, ...changed };
    await condition(() => !this.isWriting);
    this.isWriting = true;
    state.controlWrites = (state.controlWrites ?? 0) + 1;
    try {
      await bookkeeping.recordControl({ run: this.input.run, write: state.controlWrites, row });
    } finally {
      this.isWriting = false;
    }
  }
}

function ended(): DomainError {
  return new DomainError('refused', 'The run has ended; nothing can be changed any more.');
}

/** A handler that throws anything else would hold up the whole run. */
function asFailure(error: unknown): ApplicationFailure {
  const isRefusal = error instanceof DomainError;
  return ApplicationFailure.create({
    type: isRefusal ? error.code : 'unexpected',
    message: error instanceof Error ? error.message : String(error),
    nonRetryable: true,
  });
}
