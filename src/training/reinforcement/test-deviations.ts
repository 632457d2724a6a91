import { totalReward } from '../../core/reinforcement/rollout';
import { isEventKey } from '../../core/reinforcement/rollout-metrics';
import type { Rollout, RolloutGroup } from '../../core/reinforcement/rollout';
import type { CellScore } from '../../core/run';

/** Standard deviations over rollouts, n − 1 below the root: of the reward, and of each metric that rollouts end with. */
export function deviationsOf(groups: readonly RolloutGroup[]): CellScore[] {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const columns = new Map([['reward/total', rollouts.map(totalReward)]]);
  for (const [key, value] of rollouts.flatMap(endMetrics)) {
    if (!isEventKey(key)) columns.set(key, [...(columns.get(key) ?? []), value]);
  }
  return [...columns].flatMap(([key, values]) => {
    const value = standardDeviation(values);
    const metric = `env/all/${key}/std`;
    const score = { metric, key: `test/${metric}`, stderr: null, n: values.length, higherIsBetter: null };
    return value === null ? [] : [{ ...score, value }];
  });
}

function endMetrics({ transitions, metrics }: Rollout): [string, number][] {
  return Object.entries({ ...transitions.at(-1)?.metrics, ...metrics });
}

export function standardDeviation(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}
