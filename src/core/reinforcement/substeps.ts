import { DomainError } from '../errors';

/**
 * Near-equal consecutive parts, one optimizer update each; fewer than asked where there are fewer items.
 *
 * Part i ends before item ⌊(i + 1) · n ÷ parts⌋ (tinker-cookbook, `split_list`).
 */
export function splitIntoSubsteps<Item>(items: readonly Item[], substepCount: number): Item[][] {
  requireCount('numSubsteps', substepCount);
  const partCount = Math.min(substepCount, items.length);
  return Array.from({ length: partCount }, (_, part) =>
    items.slice(
      Math.floor((part * items.length) / partCount),
      Math.floor(((part + 1) * items.length) / partCount),
    ),
  );
}

export interface MinibatchConfig {
  readonly groupsPerBatch: number;
  /** Optimizer updates a step. */
  readonly substepCount: number;
  /** Forward-backward requests an update. */
  readonly minibatchCount: number;
}

/** How the groups of a streamed step are dealt out, in the order they arrive. */
export interface MinibatchPlan extends MinibatchConfig {
  readonly groupsPerSubstep: number;
  readonly groupsPerMinibatch: number;
}

/** Refuses numbers that do not divide: gradients are summed, so parts of unequal size would be updates of unequal size. */
export function planMinibatches(config: MinibatchConfig): MinibatchPlan {
  const { groupsPerBatch, substepCount, minibatchCount } = config;
  requireCount('groupsPerBatch', groupsPerBatch);
  requireCount('numSubsteps', substepCount);
  requireCount('streamedMinibatches', minibatchCount);
  const groupsPerSubstep = groupsPerBatch / substepCount;
  const groupsPerMinibatch = groupsPerSubstep / minibatchCount;
  if (Number.isInteger(groupsPerSubstep) && Number.isInteger(groupsPerMinibatch)) {
    return { ...config, groupsPerSubstep, groupsPerMinibatch };
  }
  throw new DomainError(
    'bad-config',
    `groupsPerBatch ${groupsPerBatch} is not divided by numSubsteps ${substepCount} × streamedMinibatches ${minibatchCount}. ` +
      `Use a multiple of ${substepCount * minibatchCount}.`,
  );
}

export interface MinibatchPlace {
  readonly substep: number;
  /** Within the substep. */
  readonly minibatch: number;
  /** With this group, the minibatch can be sent. */
  readonly endsMinibatch: boolean;
  /** With this group, the optimizer update follows. */
  readonly endsSubstep: boolean;
  readonly endsStep: boolean;
}

/**
 * Where the group that arrived as number `arrival` (from 0) of its step goes. Failed and dropped groups count as
 * arrived and are left out of what is sent; otherwise a step would wait for groups that never come.
 */
export function minibatchPlace(plan: MinibatchPlan, arrival: number): MinibatchPlace {
  const withinSubstep = arrival % plan.groupsPerSubstep;
  return {
    substep: Math.floor(arrival / plan.groupsPerSubstep),
    minibatch: Math.floor(withinSubstep / plan.groupsPerMinibatch),
    endsMinibatch: (withinSubstep + 1) % plan.groupsPerMinibatch === 0,
    endsSubstep: withinSubstep + 1 === plan.groupsPerSubstep,
    endsStep: arrival + 1 === plan.groupsPerBatch,
  };
}

function requireCount(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return;
  throw new DomainError('bad-config', `${name} is ${value}. Use a whole number of at least 1.`);
}
