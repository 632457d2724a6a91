import { CancellationScope, condition, isCancellation, patched, sleep } from '@temporalio/workflow';
import type {
  PolicySnapshot,
  RolloutPlan,
  SampledStep,
  SegmentInput,
  SegmentResult,
} from '../../core/training-plan';
import { workerLost } from '../../core/timeline';
import { isSamplingLimited } from './budget-limits';
import { EarlySampling } from './early-sampling';
import { failureCode, failureMessage } from './failures';
import { mustGoOnAnew } from './long-history';
import type { OpenModel } from './open-model';
import { WAITED_FOR } from './open-model';
import { publishProgress } from './search-attributes';
import type { RolloutState } from './rollout-state';
import { firstRolloutState } from './rollout-state';
import type { SampledShards } from './sample-shards';
import { sampleShards } from './sample-shards';
import { SamplingWeights } from './sampling-weights';
import { accountsOf, noteSpent } from './sampling-account';
import { saveHere } from './stand-still';
import type { TrainingLoop } from './training-loop';
import { isPaused, lastStepOf, rememberEvent, rememberOnce } from './training-state';

const MAX_WAIT_SECONDS = 15;
/** Less than a segment may take. */
const SOON_SECONDS = 3;
/** Steps that take longer keep no sampler waiting for their weights: it would hold a place of its worker. */
const LONGEST_AWAITED_STEP_SECONDS = 20;

/**
 * Has the rollouts of the next steps sampled, with the newest weights there are when a step's sampling begins.
 *
 * A step's rollouts are journalled before it is trained, so a rewind trains them again without sampling. Synchronous runs
 * sample between steps; with `maxStepsOffPolicy` K the steps up to K ahead of the one in training are sampled meanwhile.
 */
export class RolloutDesk {
  private readonly rollouts: RolloutState;
  private sampling: CancellationScope | null = null;
  private failure: Error | null = null;
  private isDraining = false;
  private awaitedStep = -1;
  private readonly early: EarlySampling;
  private readonly weights: SamplingWeights;

  constructor(
    private readonly loop: TrainingLoop,
    private readonly model: OpenModel,
    private readonly plan: RolloutPlan,
  ) {
    const { state } = loop;
    state.rollouts ??= firstRolloutState();
    this.rollouts = state.rollouts;
    this.early = new EarlySampling(this.rollouts);
    this.weights = new SamplingWeights(state, this.rollouts);
  }

  /** The last step that a segment may send, once there is one; null when something else is to be done first. */
  async ready(): Promise<number | null> {
    const { state } = this.loop;
    const next = state.position.collectedThrough + 1;
    if (next < 1) return 0;
    if (this.rollouts.sampledThrough < next && this.weights.areLacking(this.plan.maxStepsOffPolicy))
      return this.savePolicy();
    this.sampleAhead();
    if ((this.plan.isStreamed && !isSamplingLimited(state)) || this.isSoonSampled(next))
      return this.orThrow(next);
    await condition(() => this.isSampled(next) || this.failure !== null || this.isHeldUp());
    if (this.rollouts.sampledThrough < next) return this.orThrow(null);
    return this.orThrow(Math.max(next + this.plan.maxStepsOffPolicy, this.rollouts.sampledThrough));
  }

  /**
   * Whether the segment may begin already and wait for the rollouts itself: what would pass between the end of sampling and
   * its start is then saved. Where that is long, its worker is not kept waiting; and once only, should it have been in vain.
   */
  private isSoonSampled(next: number): boolean {
    const last = this.rollouts.sampled?.at(-1);
    if (isSamplingLimited(this.loop.state)) return false;
    if (this.sampling === null || !last || last.seconds > SOON_SECONDS || this.awaitedStep === next)
      return false;
    if (this.plan.maxStepsOffPolicy > 0 || !patched('segments-wait-for-rollouts')) return false;
    this.awaitedStep = next;
    return true;
  }

  /** Takes over the weights that a segment saved. */
  take(result: SegmentResult, segment: Pick<SegmentInput, 'passing'>): void {
    // An evaluation, a budget or a person may have a say first: sampling goes on when the next segment is due.
    if (this.early.settle(result, segment)) this.sampling = null;
    const { policy } = result;
    if (policy) this.weights.use(policy);
    if (result.lacking !== undefined) this.sampleAgainFrom(result.lacking);
    const isAhead = this.plan.maxStepsOffPolicy > 0 && !isSamplingLimited(this.loop.state);
    if (policy && policy.step >= 0 && isAhead) this.sampleAhead();
  }

  /** Rollouts of a step are gone, as after a rewind past one that somebody removed. Newer weights would draw others. */
  private sampleAgainFrom(step: number): void {
    const { rollouts } = this;
    rollouts.sampledThrough = Math.min(rollouts.sampledThrough, step - 1);
    if (rollouts.policy && rollouts.policy.step >= step) this.weights.use(null);
  }

  /** Lets the sampling under way end and begins no other, so that a new execution can take over. */
  async drain(): Promise<void> {
    this.isDraining = true;
    await condition(() => this.sampling === null);
  }

  /** Nothing more is sampled: the last step is collected. */
  stop(): void {
    this.sampling?.cancel();
  }

  /** The last step whose rollouts may be sampled now. */
  private get furthest(): number {
    const { state } = this.loop;
    // A segment's position may be known a moment before the weights it saved are.
    const weights = Math.min(state.position.collectedThrough, this.rollouts.policy?.step ?? -1);
    const ahead = weights + 1 + this.plan.maxStepsOffPolicy;
    return Math.min(ahead, lastStepOf(state), state.pause?.step ?? Infinity);
  }

  /** What sampling may cost is known when it is over: until then, nothing else is spent. */
  private isSampled(step: number): boolean {
    const isOver = this.sampling === null || !isSamplingLimited(this.loop.state);
    return isOver && this.rollouts.sampledThrough >= step;
  }

  private isHeldUp(): boolean {
    const { state } = this.loop;
    if (this.rollouts.isOverBudget === true) return true;
    return isPaused(state) || this.rollouts.policy === null || this.sampling === null;
  }

  private orThrow<Value>(value: Value): Value {
    if (this.failure !== null) throw this.failure;
    return value;
  }

  private canSample(): boolean {
    if (this.rollouts.isOverBudget === true) return false;
    return !this.isDraining && this.rollouts.policy !== null && this.rollouts.sampledThrough < this.furthest;
  }

  private sampleAhead(): void {
    if (this.sampling || this.failure !== null) return;
    if (!this.canSample() && !this.canSampleEarly()) return;
    const scope = new CancellationScope();
    this.sampling = scope;
    void scope.run(async () => {
      try {
        while (this.sampling === scope) {
          if (this.canSample()) await this.sampleNext();
          else if (this.canSampleEarly()) await this.sampleEarly();
          else break;
        }
      } catch (error) {
        this.failure = error instanceof Error ? error : new Error(String(error));
        // A streamed segment would wait for groups that never come.
        if (!isCancellation(error)) this.loop.controls.segments.interrupt();
      } finally {
        if (this.sampling === scope) this.sampling = null;
      }
    });
  }

  /** Samples one step, however long the service keeps it waiting. */
  private async sampleNext(): Promise<void> {
    const { state } = this.loop;
    const step = this.rollouts.sampledThrough + 1;
    const startedAt = Date.now();
    for (let wait = 1; this.rollouts.policy !== null; wait = Math.min(MAX_WAIT_SECONDS, wait * 2)) {
      const { policy } = this.rollouts;
      state.samplingFrom = policy.samplerPath;
      const failure = await this.trySample(step, policy);
      delete state.samplingFrom;
      if (this.rollouts.isOverBudget === true) return;
      if (failure === null) {
        // Rollouts of an earlier step were found to be gone meanwhile.
        if (this.rollouts.sampledThrough < step - 1) return;
        this.rollouts.sampledThrough = step;
        delete this.rollouts.goneCount;
        this.noteSampled({ step, seconds: (Date.now() - startedAt) / 1000 });
        return;
      }
      await this.outlast(failure, policy, wait);
      if (mustGoOnAnew(this.loop.input)) {
        this.giveWay();
        return;
      }
    }
  }

  /** A new execution goes on with the step that is being waited for. A streamed segment would wait for it without end. */
  private giveWay(): void {
    this.isDraining = true;
    this.loop.controls.segments.interrupt();
  }

  private noteSampled(sampled: SampledStep): void {
    const kept = this.plan.maxStepsOffPolicy + 2;
    this.rollouts.sampled = [...(this.rollouts.sampled ?? []), sampled].slice(-kept);
  }

  private async trySample(step: number, policy: PolicySnapshot): Promise<unknown> {
    const { state, input } = this.loop;
    for (;;) {
      const retired = this.weights.takeRetired();
      const accounts = accountsOf(state, this.rollouts, step);
      const sampled = await sampleShards(this.plan, { run: input.run, step, policy, retired, ...accounts });
      this.noteOutcome(step, sampled);
      const hasDrawn = noteSpent(this.rollouts, sampled);
      if (!sampled.isOverBudget || sampled.failure !== null) return sampled.failure;
      // What one shard had left is another one's to use.
      if (hasDrawn) continue;
      this.rollouts.isOverBudget = true;
      return null;
    }
  }

  private noteOutcome(step: number, { attempt, remarks }: SampledShards): void {
    const { state } = this.loop;
    rememberOnce(state, remarks, step);
    if (attempt === 1) return;
    rememberEvent(state, 'worker lost', workerLost(`rollouts of step ${step} go on`, attempt));
  }

  /** Whether the sampler of the next step may begin before its weights are there: the step under way is soon trained. */
  private canSampleEarly(): boolean {
    const { state } = this.loop;
    const { sampledThrough } = this.rollouts;
    const step = sampledThrough + 1;
    const isNext = state.position.collectedThrough + 1 === sampledThrough && !this.early.wasTried(step);
    const isWanted = step <= Math.min(lastStepOf(state), state.pause?.step ?? Infinity);
    if (this.rollouts.isNoteUnseen === true) return false;
    if (this.isDraining || this.plan.maxStepsOffPolicy > 0 || !isNext || !isWanted) return false;
    return this.isQuick() && patched('samplers-wait-for-weights');
  }

  private isQuick(): boolean {
    if (isSamplingLimited(this.loop.state)) return false;
    const { stepsPerSecond } = this.loop.state;
    const samplingSeconds = this.rollouts.sampled?.at(-1)?.seconds ?? Infinity;
    return samplingSeconds <= SOON_SECONDS && (stepsPerSecond ?? 0) * LONGEST_AWAITED_STEP_SECONDS >= 1;
  }

  /** What comes to nothing is sampled the usual way, which also meets and shows what stands in its way. */
  private async sampleEarly(): Promise<void> {
    const { run } = this.loop.input;
    const step = this.rollouts.sampledThrough + 1;
    const retired = this.weights.takeRetired();
    const accounts = accountsOf(this.loop.state, this.rollouts, step);
    const sampled = await this.early.run(step, (awaited) =>
      sampleShards(this.plan, { run, step, policy: null, awaited, retired, ...accounts }),
    );
    if (sampled) {
      this.noteOutcome(step, sampled);
      noteSpent(this.rollouts, sampled);
    }
    if (sampled === null || this.rollouts.sampledThrough < step - 1) return;
    this.rollouts.sampledThrough = step;
    this.noteSampled({ step, seconds: sampled.seconds });
  }

  private async outlast(error: unknown, policy: PolicySnapshot, seconds: number): Promise<void> {
    const { state, input } = this.loop;
    const code = failureCode(error) ?? '';
    if (code === 'checkpoint-missing') {
      this.weights.noteGone(policy, error);
      return;
    }
    if (!WAITED_FOR.includes(code)) throw error;
    const what = failureMessage(error);
    if (state.waitingFor === null) rememberEvent(state, 'waiting', what);
    state.waitingFor ??= { what, since: new Date().toISOString() };
    state.status = 'waiting';
    publishProgress(input, state);
    await sleep(seconds * 1000);
    state.waitingFor = null;
    state.status = 'running';
  }

  /** The weights to sample from are gone, or there were none: they are saved where training stands. */
  private async savePolicy(): Promise<null | number> {
    const { state } = this.loop;
    // What is in flight saves newer ones anyway.
    if (state.position.inFlight.length > 0) return state.position.submittedThrough;
    const number = this.rollouts.saveCount + 1;
    this.rollouts.saveCount = number;
    const result = await saveHere(this.loop, this.model, `policy-${number}`);
    if (result) this.take(result, {});
    return null;
  }
}
