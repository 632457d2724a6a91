import { DomainError } from '../core/errors';
import { checkpointDueAt } from '../core/schedules/checkpoint-schedule';
import type {
  OptimizationPlan,
  SegmentInput,
  SegmentResult,
  Snapshot,
  TrainingPosition,
} from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import { planChunks } from '../engines/tinker/chunks';
import type { Batches } from './batches';
import type { PreparedData } from './prepared-data';
import type { StepJournals } from './step-journals';
import type { PlannedStep, StepPlanner } from './step-plan';
import { planSave, planStep } from './step-plan';
import type { StepSender, SubmittedStep } from './step-requests';
import { adoptStep, collectStep, submitStep } from './step-requests';

export interface SegmentDependencies {
  readonly client: TinkerClient;
  readonly data: PreparedData;
  readonly batches: Batches;
  readonly optimization: OptimizationPlan;
  readonly journals: StepJournals;
  /** Milliseconds of a clock that only measures durations. */
  readonly now: () => number;
}

export interface SegmentOptions {
  /** From 1; a later attempt may not resend to a service that would compute twice. */
  readonly attempt: number;
  /** Fires when the segment shall hand over what it has in flight, at once. */
  readonly signal: AbortSignal;
  /** Why the segment cannot go on just now, or null; a service without room is waited for by the run, not here. */
  readonly waiting: PatientSignal;
  readonly onProgress: (step: number) => void;
}

/** Aborts `signal` when the service keeps us waiting for longer than a segment should; says why. */
export interface PatientSignal {
  readonly signal: AbortSignal;
  reason(): string | null;
}

const WAITED_FOR: readonly string[] = ['unreachable', 'store-full'];

/** A new snapshot is handed over this soon, so that its evaluation does not wait for the segment's end. */
const SNAPSHOT_HANDOVER_MS = 1500;

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

/** Another attempt may have sent some of the same requests. */
function isRepeated({ isRepeat }: SegmentInput, { attempt }: SegmentOptions): boolean {
  return attempt > 1 || isRepeat === true;
}

class Segment {
  private readonly startedAt: number;
  private readonly planner: StepPlanner;
  private readonly sender: StepSender;
  private readonly collector: StepSender;
  private readonly queue: SubmittedStep[] = [];
  private readonly snapshots: Snapshot[] = [];
  private position: TrainingPosition;
  private next: PlannedStep;
  private isBlocked = false;
  private unreachable: string | null = null;
  private lost: string | null = null;
  /** Requests of a step are under way, and which of them arrived is not known. */
  private isSubmitting = false;

  constructor(
    private readonly dependencies: SegmentDependencies,
    private readonly input: SegmentInput,
    private readonly options: SegmentOptions,
  ) {
    const { client, data, optimization, now } = dependencies;
    const { plan, model, position } = input;
    this.startedAt = now();
    this.position = position;
    this.planner = {
      plan,
      optimization,
      data,
      batches: dependencies.batches,
      cutIntoChunks: (batch) => planChunks(batch, model.chunkLimits),
    };
    const { signal } = options.waiting;
    // A step is sent whole or not at all, also when the segment is asked to hand over.
    this.sender = { client, model, adam: optimization.adam, signal };
    this.collector = { ...this.sender, signal: AbortSignal.any([options.signal, signal]) };
    this.next = this.plan(position.collectedThrough + 1, position.nextSeqId, position.tokens);
  }

  async run(): Promise<SegmentResult> {
    try {
      await this.refill();
      while (this.queue.length > 0) {
        await this.collectHead();
        if (this.options.signal.aborted) break;
        await this.refill();
        if (this.isTimeUp()) break;
      }
      if (this.input.savesAtEnd) await this.saveReached();
    } catch (error) {
      if (!this.canHandOver(error)) throw error;
    }
    return this.result();
  }

  private plan(step: number, seqId: number, tokensBefore: number): PlannedStep {
    const timed = this.input.timedSteps.find((candidate) => candidate.step === step);
    return planStep(this.planner, {
      step,
      seqId,
      tokensBefore,
      timedSchedules: timed?.schedules ?? [],
      evaluatedThrough: this.input.evaluatedThrough,
      lastStep: this.input.stopAt ?? this.input.plan.totalSteps,
    });
  }

  /** Keeps one step running and `submitAhead` queued behind it, up to a blocking evaluation. */
  private async refill(): Promise<void> {
    while (this.queue.length <= this.input.plan.submitAhead && !this.isBlocked) {
      const planned = this.next;
      if (planned.step > this.input.throughStep) return;
      this.queue.push(await this.submit(planned));
      this.isBlocked = planned.isBlocking;
      this.next = this.plan(planned.step + 1, planned.firstSeqId + planned.requestCount, planned.tokensAfter);
    }
  }

  private async submit(planned: PlannedStep): Promise<SubmittedStep> {
    const sent = this.input.position.inFlight.find(({ step }) => step === planned.step);
    if (sent) return adoptStep(planned, sent);
    this.isSubmitting = true;
    const submitted = await submitStep(this.sender, planned);
    this.isSubmitting = false;
    return submitted;
  }

  private async collectHead(): Promise<void> {
    const [head] = this.queue;
    if (!head) return;
    const { planned } = head;
    const answers = await collectStep(this.collector, head);
    this.dependencies.journals.record(planned, answers);
    this.queue.shift();
    this.position = {
      ...this.position,
      collectedThrough: planned.step,
      nextSeqId: planned.firstSeqId + planned.requestCount,
      tokens: planned.tokensAfter,
    };
    if (planned.schedules.length > 0 && answers.samplerPath !== null) {
      this.snapshots.push({
        step: planned.step,
        samplerPath: answers.samplerPath,
        schedules: planned.schedules,
        isCheckpoint: planned.checkpoint?.kind === 'periodic' || planned.checkpoint?.kind === 'final',
      });
    }
    this.options.onProgress(planned.step);
    await this.retireRolling(planned);
  }

  /** Saves where training stands, unless a checkpoint is there already. */
  private async saveReached(): Promise<void> {
    const { plan } = this.input;
    const { collectedThrough: step, nextSeqId, tokens } = this.position;
    if (this.queue.length > 0 || step < 1 || checkpointDueAt(plan.checkpoints, step, plan.totalSteps)) return;
    const planned = planSave({ step, seqId: nextSeqId, tokens, ttlSeconds: plan.checkpoints.ttlSeconds });
    const answers = await collectStep(this.collector, await submitStep(this.sender, planned));
    this.dependencies.journals.record(planned, answers);
    this.position = { ...this.position, nextSeqId: nextSeqId + planned.requestCount };
  }

  /** Only the newest rolling checkpoint is kept. One that cannot be deleted expires by itself. */
  private async retireRolling({ step, checkpoint }: PlannedStep): Promise<void> {
    const path = checkpoint ? this.dependencies.journals.retiredBy(step) : null;
    if (path === null) return;
    try {
      await this.dependencies.client.deleteCheckpoint(path);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  private isTimeUp(): boolean {
    const elapsedMs = this.dependencies.now() - this.startedAt;
    if (elapsedMs >= this.input.maxSeconds * 1000) return true;
    return this.snapshots.length > 0 && elapsedMs >= SNAPSHOT_HANDOVER_MS;
  }

  /**
   * What was collected counts, whatever stopped the segment: a model that is gone is the run's to open again; a
   * service that is away or without room, and a full disk, are the run's to wait for.
   */
  private canHandOver(error: unknown): boolean {
    if (error instanceof DomainError && error.code === 'session-lost') {
      this.lost = error.message;
      return true;
    }
    if (this.isSubmitting && !this.input.model.deduplicates) {
      this.lost =
        'The service may or may not have taken a request, and would compute it twice if it were resent.';
      return true;
    }
    // What was submitted is collected by its promise, whoever collects it.
    if (this.options.signal.aborted || this.options.waiting.reason() !== null) return true;
    if (!(error instanceof DomainError) || !WAITED_FOR.includes(error.code)) return false;
    this.unreachable = error.message;
    return true;
  }

  private result(): SegmentResult {
    const { position, lost } = this;
    const queue = lost === null ? this.queue : [];
    return {
      position: {
        ...position,
        submittedThrough: queue.at(-1)?.planned.step ?? position.collectedThrough,
        inFlight: queue.map(({ planned, requestIds }) => ({ step: planned.step, requestIds })),
      },
      snapshots: this.snapshots,
      seconds: (this.dependencies.now() - this.startedAt) / 1000,
      waitingFor: this.waitingFor,
      lost,
      sentThrough: this.sentThrough(),
    };
  }

  /** An earlier attempt may have got further than this one did. */
  private sentThrough(): number {
    if (isRepeated(this.input, this.options)) return this.input.throughStep;
    return this.isSubmitting ? this.next.step : this.next.step - 1;
  }

  private get waitingFor(): string | null {
    return this.options.waiting.reason() ?? this.unreachable;
  }
}
