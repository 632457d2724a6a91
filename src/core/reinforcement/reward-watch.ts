import { differenceInterval } from '../gates/score-interval';
import type { MetricsRow, ScoreRow } from '../run';

/** A held-out score that fell while the reward trained on rose. */
export interface RewardAlarm {
  readonly step: number;
  /** Where the score was best. */
  readonly since: number;
  readonly key: string;
  readonly text: string;
}

type Measured = Pick<ScoreRow, 'step' | 'key' | 'value' | 'stderr' | 'n' | 'clusters' | 'higherIsBetter'>;

/** The area of the metric that says so. */
export const REWARD_ALARM = 'reward_alarm';

const REWARD = 'env/all/reward/total';
/** Steps over which the reward trained on is averaged before an evaluation. */
const WINDOW = 10;
const LEVEL = 0.95;

/**
 * Compares a new score with the best one before it: an alarm where it lies below by more than both 95 % intervals allow,
 * although training earned more by then. Rewards are then being earned for something else than they were meant for.
 */
export function watchReward(
  score: Measured,
  earlier: readonly Measured[],
  metrics: readonly MetricsRow[],
): RewardAlarm | null {
  const best = bestBefore(score, earlier);
  if (best === null || !hasFallen(score, best)) return null;
  const [now, then] = [rewardBefore(metrics, score.step), rewardBefore(metrics, best.step)];
  if (now === null || then === null || now <= then) return null;
  return {
    step: score.step,
    since: best.step,
    key: score.key,
    text:
      `${score.key} fell from ${short(best.value ?? 0)} at step ${best.step} to ${short(score.value ?? 0)} at step ${score.step}, ` +
      `beyond what chance explains, while the reward trained on rose from ${short(then)} to ${short(now)}: ` +
      'look at the rollouts, the reward may be earned for something else than it is meant for',
  };
}

/** Below the best by more than both intervals allow. */
function hasFallen(score: Measured, best: Measured): boolean {
  if (score.value === null || best.value === null || score.higherIsBetter !== true) return false;
  const fall = differenceInterval({ ...best, value: best.value }, { ...score, value: score.value }, LEVEL);
  return fall !== null && fall[0] > 0;
}

function bestBefore({ step, key }: Measured, earlier: readonly Measured[]): Measured | null {
  const same = earlier.filter((row) => row.key === key && row.step < step && row.value !== null);
  return same.reduce<Measured | null>(
    (best, row) => (best === null || (row.value ?? 0) > (best.value ?? 0) ? row : best),
    null,
  );
}

/** Mean reward of the steps up to `step`; of the first ones at the start. */
function rewardBefore(metrics: readonly MetricsRow[], step: number): number | null {
  const last = Math.max(step, Math.min(WINDOW, metrics.at(-1)?.step ?? 0));
  const rewards = metrics
    .filter((row) => row.step <= last && row.step > last - WINDOW)
    .map((row) => row[REWARD])
    .filter((reward) => typeof reward === 'number');
  return rewards.length === 0 ? null : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}

function short(value: number): string {
  return String(Math.round(value * 1e3) / 1e3);
}
