import { anySignal } from '../core/concurrency/any-signal';
import { DomainError } from '../core/errors';
import { checkpointDueAt } from '../core/schedules/checkpoint-schedule';
import type {
  PolicySnapshot,
  SaveHere,
  SegmentInput,
  SegmentResult,
  Snapshot,
  TrainingPosition,
} from '../core/training-plan';
import { PolicyPasser } from './policy-passer';
import { retireRolling } from './retire-rolling';
import type { SegmentDependencies, SegmentOptions } from './segment-contract';
import { hasReachedTokens, lackingReason, positionWith, SegmentEnd } from './segment-end';
import { plannerOf, updatesOf } from './segment-planner';
import { StepFeeder } from './step-feeder';
import type { PlannedStep } from './step-plan';
import { planSave } from './step-plan';
import type { StepAnswers, StepSender } from './step-requests';
import { collectStep, submitStep } from './step-requests';

/** A new snapshot is handed over this soon, so that its evaluation does not wait for the segment's end. */
const SNAPSHOT_HANDOVER_MS = 1500;
/** How often rollouts that are nearly done are looked for where another process samples them. */
const AWAIT_EVERY_MS = 5;
/** How often rollouts that are done are looked for while a step is trained. */
const FEED_EVERY_MS = 50;

/**
 * Advances the run over consecutive steps: submits ahead, collects in order, journals each step.
 *
 * Safe to run again after a crash: the same requests get the same promises, and rows already journalled stay
 * as they are. Ends with work in flight; the next segment collects it. Throws `session-lost` when the model's
 * state cannot be known.
 */
export async function runSegment(
  dependencies: SegmentDependencies,
  input: SegmentInput,
  options: SegmentOptions,
): Promise<SegmentResult> {
  if (isRepeated(input, options) && !input.model.deduplicates) {
    throw new DomainError(
      'session-lost',
      'A segment was interrupted on a service that would compute resent requests twice; the run rewinds.',
    );
  }
  const segment = new Segment(dependencies, input, options);
  return segment.run();
}

function isPolicy(kind: SaveHere): boolean {
  return kind.startsWith('policy');
}

/** Another attempt may have sent some of the same requests. */
export function isRepeated(
  { isRepeat }: SegmentInput,
  { attempt }: Pick<SegmentOptions, 'attempt'>,
): boolean {
  return attempt > 1 || isRepeat === true;
}

class Segment {
  private readonly startedAt: number;
  private readonly sender: StepSender;
  private readonly collector: StepSender;
  private readonly feeder: StepFeeder;
  private readonly passer: PolicyPasser;
  private readonly snapshots: Snapshot[] = [];
  private position: TrainingPosition;
  private policy: PolicySnapshot | null = null;
  private readonly end = new SegmentEnd();
  private lacking: number | null = null;
  private isSavingHere = false;

  constructor(
    private readonly dependencies: SegmentDependencies,
    private readonly input: SegmentInput,
    private readonly options: SegmentOptions,
  ) {
    const { client, optimization, now } = dependencies;
    const { model, position } = input;
    this.startedAt = now();
    this.position = position;
    const { signal } = options.waiting;
    // A step is sent whole or not at all, also when the segment is asked to hand over.
    this.sender = { client, model, adam: optimization.adam, signal };
    this.collector = { ...this.sender, signal: anySignal([options.signal, signal]) };
    this.passer = new PolicyPasser(input.passing, dependencies.passPolicy);
    this.feeder = new StepFeeder(
      {
        ...{ planner: plannerOf(dependencies, input), sender: this.sender, input },
        onSend: dependencies.journals.recordSent,
        signal: this.collector.signal,
      },
      {
        step: position.collectedThrough + 1,
        seqId: position.nextSeqId,
        tokensBefore: position.tokens,
        updatesBefore: updatesOf(position),
      },
    );
  }

  async run(): Promise<SegmentResult> {
    try {
      await this.trainSteps();
      if (this.input.savesAtEnd) await this.saveReached();
      if (this.input.saveHere) await this.saveHere(this.input.saveHere);
    } catch (error) {
      if (!this.canHandOver(error)) throw error;
    }
    return this.result();
  }

  private async trainSteps(): Promise<void> {
    const { feeder } = this;
    await feeder.refill();
    while (await this.hasHead()) {
      await this.collectHead();
      if (this.options.signal.aborted) return;
      await feeder.refill();
      if (this.isTimeUp()) return;
    }
  }

  /**
   * Whether there is a step to collect. One whose batch is still being sampled is sent part by part, or waited for where its
   * tokens have to be known first.
   */
  private async hasHead(): Promise<boolean> {
    const { feeder } = this;
    const { rollouts } = this.input.plan;
    this.lacking = rollouts ? feeder.lacking : null;
    if (this.lacking !== null) return false;
    if (feeder.queue.length === 0 && rollouts && !feeder.isExhausted) {
      if (rollouts.isStreamed && this.input.tokensAtMost === undefined) await feeder.stream();
      else await this.awaitRollouts();
    }
    return feeder.queue.length > 0;
  }

  /** For as long as a segment may take: what takes longer is the run's to wait for. */
  private async awaitRollouts(): Promise<void> {
    const { feeder } = this;
    const { news } = this.dependencies;
    while (!this.isTimeUp() && !this.collector.signal.aborted) {
      const { toldCount } = news;
      await feeder.refill();
      if (feeder.queue.length > 0) return;
      await news.wait(toldCount, AWAIT_EVERY_MS);
    }
  }

  private async collectHead(): Promise<void> {
    const { queue } = this.feeder;
    const [head] = queue;
    if (!head) return;
    const { planned } = head;
    const answers = await this.whileFeeding(collectStep(this.collector, head));
    this.dependencies.journals.record(planned, answers);
    queue.shift();
    this.position = {
      ...this.position,
      collectedThrough: planned.step,
      nextSeqId: planned.firstSeqId + planned.requestCount,
      tokens: planned.tokensAfter,
      ...(this.input.plan.rollouts && { updates: planned.updatesAfter }),
    };
    this.noteSnapshots(planned, answers);
    if (!this.options.signal.aborted) await this.passer.offer(planned, answers);
    this.options.onProgress(planned.step);
    await planned.batch?.report?.();
    await retireRolling(this.dependencies, planned);
  }

  /** Rollouts that are done meanwhile are sent at once, so that the service has the next step when it ends this one. */
  private async whileFeeding<Value>(collecting: Promise<Value>): Promise<Value> {
    if (!this.isAhead) return collecting;
    const done = collecting.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([done, after(FEED_EVERY_MS)]))) await this.feeder.refill();
    return collecting;
  }

  /** Steps are sampled while others are trained. */
  private get isAhead(): boolean {
    return (this.input.plan.rollouts?.maxStepsOffPolicy ?? 0) > 0;
  }

  private noteSnapshots(planned: PlannedStep, { samplerPath }: StepAnswers): void {
    if (samplerPath === null) return;
    const { step, schedules, checkpoint, isAsked } = planned;
    const isCheckpoint = checkpoint?.kind === 'periodic' || checkpoint?.kind === 'final';
    if (isAsked || schedules.length > 0) this.snapshots.push({ step, samplerPath, schedules, isCheckpoint });
    if (this.input.plan.rollouts) this.policy = { step, samplerPath, isCheckpoint };
  }

  /** Saves where training stands, unless a checkpoint is there already. */
  private async saveReached(): Promise<void> {
    const { plan } = this.input;
    const { collectedThrough: step } = this.position;
    if (this.feeder.queue.length > 0 || step < 1 || checkpointDueAt(plan.checkpoints, step, plan.totalSteps))
      return;
    const { ttlSeconds } = plan.checkpoints;
    await this.save(this.planSave('reached', ttlSeconds));
  }

  /**
   * Saves between two steps, for a run that stands still. It is done whole or not at all: a request that was sent and not
   * accounted for would take the next step's seq id.
   */
  private async saveHere(kind: SaveHere): Promise<void> {
    const step = this.position.collectedThrough;
    this.isSavingHere = true;
    const answers = await this.save(this.planSave(kind, null));
    this.isSavingHere = false;
    const { samplerPath } = answers;
    if (samplerPath === null) return;
    if (isPolicy(kind)) this.policy = { step, samplerPath, isCheckpoint: false };
    else this.snapshots.push({ step, samplerPath, schedules: [], isCheckpoint: false });
  }

  private planSave(kind: 'reached' | SaveHere, ttlSeconds: number | null): PlannedStep {
    const { collectedThrough: step, nextSeqId: seqId, tokens } = this.position;
    return planSave({ step, seqId, tokens, updates: updatesOf(this.position), ttlSeconds, kind });
  }

  private async save(planned: PlannedStep): Promise<StepAnswers> {
    const answers = await collectStep(this.collector, await submitStep(this.sender, planned));
    this.dependencies.journals.record(planned, answers);
    this.position = {
      ...this.position,
      nextSeqId: planned.firstSeqId + planned.requestCount,
    };
    await retireRolling(this.dependencies, planned);
    return answers;
  }

  private isTimeUp(): boolean {
    const elapsedMs = this.dependencies.now() - this.startedAt;
    if (elapsedMs >= this.input.maxSeconds * 1000) return true;
    if (hasReachedTokens(this.input, this.position)) return true;
    // The next rollouts are sampled from the weights just saved.
    if (this.isAhead) return true;
    return this.snapshots.length > 0 && elapsedMs >= SNAPSHOT_HANDOVER_MS;
  }

  private canHandOver(error: unknown): boolean {
    const { signal, waiting } = this.options;
    return this.end.canHandOver(error, {
      mayHaveSent: this.feeder.isSubmitting && !this.input.model.deduplicates,
      isSavingHere: this.isSavingHere,
      isAsked: signal.aborted || waiting.reason() !== null,
    });
  }

  private result(): SegmentResult {
    const { lost } = this.end;
    const { unaffordable } = this.feeder;
    return {
      position: positionWith(this.position, lost === null ? this.feeder.queue : []),
      snapshots: this.snapshots,
      ...(this.policy && { policy: this.policy }),
      ...(this.passer.passedOn !== null && { passedOn: this.passer.passedOn }),
      ...(this.lacking !== null && { lacking: this.lacking }),
      seconds: (this.dependencies.now() - this.startedAt) / 1000,
      waitingFor: this.options.waiting.reason() ?? this.end.unreachable ?? lackingReason(this.lacking),
      lost,
      sentThrough: this.sentThrough(),
      ...(unaffordable && { unaffordable }),
    };
  }

  /** An earlier attempt may have got further than this one did. */
  private sentThrough(): number {
    const mayBeFurther = isRepeated(this.input, this.options) && this.feeder.unaffordable === null;
    return mayBeFurther ? this.input.throughStep : this.feeder.sentThrough;
  }
}

function after(milliseconds: number): Promise<false> {
  return new Promise((resolve) => {
    setTimeout(() => {
      resolve(false);
    }, milliseconds);
  });
}
