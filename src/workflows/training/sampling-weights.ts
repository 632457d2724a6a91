import { ApplicationFailure, patched } from '@temporalio/workflow';
import type { PolicySnapshot } from '../../core/training-plan';
import { failureMessage } from './failures';
import { RequestedEvaluations } from './requested-evaluations';
import type { RolloutState } from './rollout-state';
import type { TrainingState } from './training-state';

const MAX_RETIRED = 100;
const MAX_GONE = 5;

/** The weights that rollouts are sampled from: which they are, and which older ones can go. */
export class SamplingWeights {
  constructor(
    private readonly state: TrainingState,
    private readonly rollouts: RolloutState,
  ) {}

  /** There are none that may sample the next step, and none are on their way. */
  areLacking(maxStepsOffPolicy: number): boolean {
    const { policy } = this.rollouts;
    return policy === null || policy.step < this.state.position.collectedThrough - maxStepsOffPolicy;
  }

  use(policy: PolicySnapshot | null): void {
    const { rollouts } = this;
    const old = rollouts.policy;
    if (old && old.samplerPath !== policy?.samplerPath && !old.isCheckpoint) {
      rollouts.retired = [...rollouts.retired, old.samplerPath].slice(-MAX_RETIRED);
    }
    rollouts.policy = policy;
  }

  /** Paths of those that may be deleted. What an evaluation still measures is deleted by it. */
  takeRetired(): string[] {
    const requests = new RequestedEvaluations(this.state);
    const isMeasured = (path: string) =>
      this.state.pending.some(({ samplerPath }) => samplerPath === path) || requests.uses(path);
    const { retired } = this.rollouts;
    this.rollouts.retired = [];
    return retired.filter((path) => !isMeasured(path));
  }

  /** Has them saved anew. Throws where they are gone each time, which would go on without end. */
  noteGone(policy: PolicySnapshot, error: unknown): void {
    const { rollouts } = this;
    if (rollouts.policy === policy) rollouts.policy = null;
    const goneCount = (rollouts.goneCount ?? 0) + 1;
    rollouts.goneCount = goneCount;
    if (goneCount < MAX_GONE || !patched('weights-gone-in-a-row')) return;
    const message =
      `The weights to sample from were gone ${goneCount} times in a row, though they were saved anew each time: ` +
      `${failureMessage(error)} Look at how long the training service keeps them, and start the run again.`;
    throw ApplicationFailure.nonRetryable(message, 'request-failed');
  }
}
