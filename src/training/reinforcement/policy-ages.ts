import { largestOf, smallestOf } from '../../core/extremes';
import { REINFORCEMENT_METRIC_KEYS as KEYS } from '../../core/reinforcement/reinforcement-metric-keys';
import { oldestPolicyVersion } from '../../core/reinforcement/rollout';
import type { RolloutGroup } from '../../core/reinforcement/rollout';

/** Which weights drew the groups of a step, as steps done; nothing where all are those just before it. */
export function policyAges(groups: readonly RolloutGroup[], step: number): Record<string, number> {
  const versions = groups.map(oldestPolicyVersion).filter((version) => version !== null);
  if (versions.length === 0 || versions.every((version) => version === step - 1)) return {};
  return {
    [KEYS.samplingStepMax]: largestOf(versions),
    [KEYS.samplingStepMin]: smallestOf(versions),
    [KEYS.samplingStepMean]: versions.reduce((sum, version) => sum + version, 0) / versions.length,
  };
}
