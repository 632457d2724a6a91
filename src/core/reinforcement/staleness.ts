import { largestOf, smallestOf } from '../extremes';
import { REINFORCEMENT_METRIC_KEYS as KEYS } from './reinforcement-metric-keys';

export interface GroupAge {
  /** Updates behind the oldest weights the group was drawn from. */
  readonly policyVersion: number;
  /** Updates behind the weights that would be trained with it now. */
  readonly trainerVersion: number;
  /** 0 is on-policy. */
  readonly maxStepsOffPolicy: number;
}

/** Too old to train on: its weights are more than `maxStepsOffPolicy` updates behind. */
export function isStale({ policyVersion, trainerVersion, maxStepsOffPolicy }: GroupAge): boolean {
  return policyVersion < trainerVersion - maxStepsOffPolicy;
}

/**
 * What becomes of a group in asynchronous training: a stale one is rolled out again with newer weights, or given up
 * once the data is exhausted, because nothing newer will follow it (tinker-cookbook, asynchronous mode).
 */
export function placeGroup(
  age: GroupAge & { readonly isDataExhausted: boolean },
): 'train' | 'repeat' | 'discard' {
  if (!isStale(age)) return 'train';
  return age.isDataExhausted ? 'discard' : 'repeat';
}

export interface GroupSampling {
  readonly policyVersion: number;
  readonly seconds: number;
}

/** How old the weights behind a step's groups were, and how long the groups took. Nothing without groups. */
export function samplingMetrics(groups: readonly GroupSampling[]): Record<string, number> {
  if (groups.length === 0) return {};
  const versions = groups.map(({ policyVersion }) => policyVersion);
  const seconds = groups.map((group) => group.seconds);
  return {
    [KEYS.samplingStepMax]: largestOf(versions),
    [KEYS.samplingStepMin]: smallestOf(versions),
    [KEYS.samplingStepMean]: mean(versions),
    [KEYS.samplingSecondsMax]: largestOf(seconds),
    [KEYS.samplingSecondsMin]: smallestOf(seconds),
    [KEYS.samplingSecondsMean]: mean(seconds),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}
