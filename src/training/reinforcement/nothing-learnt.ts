import type { MetricsRow } from '../../core/run';
import type { RunRecord } from '../run-folder';

const MIXED = 'env/all/by_group/frac_mixed';
const ROLLOUTS = 'env/all/total_episodes';

/**
 * What is said of a run in which the rollouts of each group earned the same, so that every advantage was 0; null where there
 * was something to learn from, if only a penalty, returns by token, or a loss of one's own.
 */
export function nothingLearnt({ config, run }: RunRecord, metrics: readonly MetricsRow[]): string | null {
  if (config.kind !== 'rl' || metrics.length === 0) return null;
  const { klPenaltyCoef, advantages, lossFunction } = config;
  if (klPenaltyCoef > 0 || advantages.discount !== undefined || typeof lossFunction === 'object') return null;
  if (metrics.some((row) => row[MIXED] !== 0)) return null;
  const steps = `in all ${metrics.length} steps`;
  if (metrics.every((row) => row[ROLLOUTS] === 0)) {
    return `Nothing could be learnt: ${steps} every rollout failed.`;
  }
  return (
    `Nothing could be learnt: ${steps} the rollouts of each group earned the same (${MIXED} is 0). ` +
    `Look at them with \`everstep runs rollouts ${run}\`; problems have to be solved now and then, and not always.`
  );
}
