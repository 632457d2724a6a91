import { CancellationScope } from '@temporalio/workflow';
import type { SegmentInput, SegmentResult } from '../../core/training-plan';
import { failureCode } from './failures';
import { WAITED_FOR } from './open-model';
import type { RolloutState } from './rollout-state';
import type { SampledShards } from './sample-shards';

/** What a sampler waits for. */
interface Awaited {
  readonly step: number;
  readonly generation: number;
}

interface Waiting {
  readonly step: number;
  readonly generation: number;
  readonly scope: CancellationScope;
  isPassedOn: boolean;
  isCalledOff: boolean;
}

/** Ways to fail that the usual sampling meets again, and outlasts. */
const MET_AGAIN: readonly string[] = [...WAITED_FOR, 'checkpoint-missing'];

/**
 * The sampler of a step that begins while the step before it is trained, and gets its weights from the segment that saves them.
 *
 * It spares the way over the workflow between training and sampling. A segment that ends without having passed the weights on
 * has it called off, before it sampled anything: pauses, stops, blocking evaluations and lost models need nothing else.
 */
export class EarlySampling {
  private waiting: Waiting | null = null;
  private lastTried = -1;

  constructor(private readonly rollouts: RolloutState) {}

  wasTried(step: number): boolean {
    return step <= this.lastTried;
  }

  /** null where it came to nothing. */
  async run(
    step: number,
    sample: (awaited: Awaited) => Promise<SampledShards>,
  ): Promise<SampledShards | null> {
    const generation = this.rollouts.generation ?? 0;
    const scope = new CancellationScope();
    const waiting = { step, generation, scope, isPassedOn: false, isCalledOff: false };
    this.waiting = waiting;
    this.lastTried = step;
    try {
      const sampled = await waiting.scope.run(() => sample({ step: step - 1, generation }));
      if (sampled.failure === null && !sampled.isInVain) return sampled;
      this.forgo(generation);
      if (sampled.isInVain && waiting.isPassedOn) this.rollouts.isNoteUnseen = true;
      if (sampled.failure === null || waiting.isCalledOff || isMetAgain(sampled.failure)) return null;
      throw sampled.failure;
    } finally {
      if (this.waiting === waiting) this.waiting = null;
    }
  }

  /** A segment has ended. Returns whether it has a sampler called off. */
  settle(result: Pick<SegmentResult, 'passedOn'>, segment: Pick<SegmentInput, 'passing'>): boolean {
    const { waiting } = this;
    if (!waiting || waiting.isPassedOn) return false;
    waiting.isPassedOn = isFor(waiting, result, segment);
    if (waiting.isPassedOn) return false;
    waiting.isCalledOff = true;
    this.waiting = null;
    this.forgo(waiting.generation);
    waiting.scope.cancel();
    return true;
  }

  /** A worker may hear late that its sampler was called off: nothing more is passed on to it. */
  private forgo(generation: number): void {
    this.rollouts.generation = Math.max(this.rollouts.generation ?? 0, generation + 1);
  }
}

/** A segment that began before a sampler failed passes its weights on to nobody. */
function isFor(
  { step, generation }: Waiting,
  { passedOn }: Pick<SegmentResult, 'passedOn'>,
  { passing }: Pick<SegmentInput, 'passing'>,
): boolean {
  return passedOn !== undefined && passedOn >= step - 1 && passing?.generation === generation;
}

function isMetAgain(failure: unknown): boolean {
  return MET_AGAIN.includes(failureCode(failure) ?? '');
}
