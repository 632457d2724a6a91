import type { Datum } from '../core/datum';
import type { SegmentInput, StepTokens } from '../core/training-plan';
import type { BatchSource } from './step-batch';
import type { PlannedStep, StepPlanner, StepStart } from './step-plan';
import { planStep, rateAt } from './step-plan';
import type { StepSender, SubmittedStep } from './step-requests';
import { adoptStep, sendOptimizerStep, submitStep } from './step-requests';

/** Where the requests of the next step begin. */
export type NextStep = Pick<StepStart, 'step' | 'seqId' | 'tokensBefore' | 'updatesBefore'>;

export interface FeederParts {
  readonly planner: StepPlanner;
  readonly sender: StepSender;
  readonly input: SegmentInput;
  /** Hears of each step before any of it is sent. */
  readonly onSend: (planned: PlannedStep) => void;
  /** Fires when nobody waits any longer for parts of a batch. */
  readonly signal: AbortSignal;
}

/**
 * Keeps the service supplied with steps, in order and each with the requests that its plan has, however often it is sent.
 *
 * A step is sent whole, except where its batch comes in parts: those are sent as they come, and are the first requests of
 * the step that is planned once all are there.
 */
export class StepFeeder {
  readonly queue: SubmittedStep[] = [];
  /** Requests of a step are under way, and which of them arrived is not known. */
  isSubmitting = false;
  /** The next step, where its tokens do not fit. */
  unaffordable: StepTokens | null = null;
  private isBlocked = false;

  constructor(
    private readonly parts: FeederParts,
    private next: NextStep,
  ) {}

  /** The last step of which requests were sent. */
  get sentThrough(): number {
    return this.isSubmitting ? this.next.step : this.next.step - 1;
  }

  get isExhausted(): boolean {
    return this.isBlocked || this.unaffordable !== null || this.next.step > this.parts.input.throughStep;
  }

  /**
   * The next step where `refill` could not send it although all of its rollouts were journalled: somebody removed some. null
   * where they are still being sampled.
   */
  get lacking(): number | null {
    const { step } = this.next;
    const { sampledThrough = 0 } = this.parts.input;
    const isHere = this.queue.length > 0 || this.isExhausted || step < 1;
    return isHere || step > sampledThrough ? null : step;
  }

  /** Keeps one step running and `submitAhead` queued behind it, up to a blocking evaluation and to what is there. */
  async refill(): Promise<void> {
    const { plan } = this.parts.input;
    while (this.queue.length <= plan.submitAhead && !this.isExhausted) {
      if (plan.rollouts && !(await this.isReady())) return;
      await this.send([]);
    }
  }

  /** Sends the next step part by part, as its rollouts are done. */
  async stream(): Promise<void> {
    const { batches } = this.parts.planner;
    await this.send(
      batches.parts && !this.sent()
        ? await this.sendParts(batches.parts(this.next.step, this.parts.signal))
        : [],
    );
  }

  private async isReady(): Promise<boolean> {
    const { step } = this.next;
    if (step < 1 || this.sent()) return true;
    const { planner, sender } = this.parts;
    const early: Datum[] = [];
    const isReady = await planner.batches.isReady?.(step, (data) => {
      for (const datum of data) early.push(datum);
    });
    await sender.client.encodeAhead(early, { signal: sender.signal });
    return isReady ?? true;
  }

  private sent() {
    return this.parts.input.position.inFlight.find(({ step }) => step === this.next.step);
  }

  private async send(early: readonly string[]): Promise<void> {
    const planned = await this.plan();
    const sent = this.sent();
    if (!sent && !this.canAfford(planned)) return;
    if (!sent) this.parts.onSend(planned);
    this.isSubmitting = !sent;
    this.queue.push(sent ? adoptStep(planned, sent) : await submitStep(this.parts.sender, planned, early));
    this.isSubmitting = false;
    planned.batch?.prepare?.();
    this.isBlocked = planned.isBlocking;
    this.next = {
      step: planned.step + 1,
      seqId: planned.firstSeqId + planned.requestCount,
      tokensBefore: planned.tokensAfter,
      updatesBefore: planned.updatesAfter,
    };
  }

  private canAfford({ step, batch, tokensAfter }: PlannedStep): boolean {
    const { tokensAtMost = Infinity } = this.parts.input;
    if (batch === null || tokensAfter <= tokensAtMost) return true;
    this.unaffordable = { step, tokens: batch.tokenCount };
    return false;
  }

  private plan(): Promise<PlannedStep> {
    const { planner, input } = this.parts;
    const timed = input.timedSteps.find(({ step }) => step === this.next.step);
    return planStep(planner, {
      ...this.next,
      timedSchedules: timed?.schedules ?? [],
      evaluatedThrough: input.evaluatedThrough,
      lastStep: input.stopAt ?? input.plan.totalSteps,
    });
  }

  /** The requests of the parts, in the order and with the seq ids that the plan of the whole step gives them. */
  private async sendParts(parts: ReturnType<NonNullable<BatchSource['parts']>>): Promise<string[]> {
    const { planner, sender } = this.parts;
    const { client, model, signal } = sender;
    const { modelId } = model;
    const requestIds: string[] = [];
    const nextId = () => this.next.seqId + requestIds.length;
    let chunkCount = 0;
    for await (const { data, endsUpdate, ...loss } of parts) {
      this.isSubmitting = true;
      for (const chunk of planner.cutIntoChunks(data)) {
        const spec = { modelId, seqId: nextId(), data: chunk, ...loss };
        requestIds.push((await client.submitForwardBackward(spec, { signal })).requestId);
        chunkCount += 1;
      }
      if (!endsUpdate || chunkCount === 0) continue;
      const learningRate = rateAt(planner, this.next.step);
      requestIds.push(await sendOptimizerStep(sender, { seqId: nextId(), learningRate }));
      chunkCount = 0;
    }
    return requestIds;
  }
}
