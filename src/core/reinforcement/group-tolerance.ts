/** What failed rollouts do to their group. */
export type GroupTolerance =
  /** The first failure fails the step. */
  | { readonly type: 'fail-fast' }
  /** Each failure is tried again; with the retries used up, the group is skipped. */
  | { readonly type: 'retry'; readonly maxRetries: number }
  /** A group with enough rollouts is kept as it is; failures are tried again only where it has too few. */
  | {
      readonly type: 'min-viable';
      readonly maxRetries: number;
      readonly minSuccessful: number | null;
      /** Failures are tried again also where there are enough. */
      readonly isFilledUp?: true;
    };

export interface GroupAttempts {
  readonly groupSize: number;
  readonly successCount: number;
  /** Failures not yet tried again. */
  readonly failureCount: number;
  /** Of the whole group. */
  readonly retriesUsed: number;
}

/** `retry` carries how many rollouts to start again, each in a new environment. */
export type GroupDecision =
  { readonly type: 'keep' | 'skip' | 'fail' } | { readonly type: 'retry'; readonly count: number };

/** Share of a group that is worth training on where nothing else is said. */
const VIABLE_FRACTION = 0.75;

/** What becomes of a group once all its rollouts under way have ended. tinker-cookbook, rollout strategies. */
export function decideGroup(tolerance: GroupTolerance, attempts: GroupAttempts): GroupDecision {
  if (attempts.failureCount === 0) return { type: attempts.successCount > 0 ? 'keep' : 'skip' };
  if (tolerance.type === 'fail-fast') return { type: 'fail' };
  const retriesLeft = tolerance.maxRetries - attempts.retriesUsed;
  if (tolerance.type === 'retry') {
    return attempts.failureCount <= retriesLeft ? retry(attempts.failureCount) : { type: 'skip' };
  }
  const isEnough = attempts.successCount >= neededOf(tolerance, attempts);
  const mayRetry = retriesLeft > 0 && (!isEnough || tolerance.isFilledUp === true);
  if (mayRetry) return retry(Math.min(attempts.failureCount, retriesLeft));
  return { type: isEnough ? 'keep' : 'skip' };
}

function neededOf(
  { minSuccessful }: { readonly minSuccessful: number | null },
  { groupSize }: GroupAttempts,
): number {
  return minSuccessful ?? Math.ceil(VIABLE_FRACTION * groupSize);
}

function retry(count: number): GroupDecision {
  return { type: 'retry', count };
}
