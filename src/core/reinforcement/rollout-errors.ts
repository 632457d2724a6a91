import { REINFORCEMENT_METRIC_KEYS } from './reinforcement-metric-keys';

/** Failed rollouts of the groups that were counted: of a step, or of a whole run. Plain JSON. */
export interface RolloutErrorCounts {
  readonly byType: Readonly<Record<string, number>>;
  readonly skippedGroupCount: number;
}

export const NO_ROLLOUT_ERRORS: RolloutErrorCounts = { byType: {}, skippedGroupCount: 0 };

export interface GroupOutcome {
  /** A word for each failed attempt at a rollout, those that a retry made good included. */
  readonly errorTypes: readonly string[];
  /** True where no rollout of the group is used. */
  readonly isSkipped: boolean;
}

export function countRolloutErrors(counts: RolloutErrorCounts, outcome: GroupOutcome): RolloutErrorCounts {
  const byType = new Map(Object.entries(counts.byType));
  for (const type of outcome.errorTypes) byType.set(type, (byType.get(type) ?? 0) + 1);
  return {
    byType: Object.fromEntries(byType),
    skippedGroupCount: counts.skippedGroupCount + (outcome.isSkipped ? 1 : 0),
  };
}

/** Nothing where nothing failed. tinker-cookbook's `RolloutErrorCounter`, which counts from the beginning of a run. */
export function rolloutErrorMetrics({
  byType,
  skippedGroupCount,
}: RolloutErrorCounts): Record<string, number> {
  const types = Object.entries(byType);
  const total = types.reduce((sum, [, count]) => sum + count, 0);
  return {
    ...Object.fromEntries(types.map(([type, count]) => [`rollout_errors/${type}`, count])),
    ...(total > 0 && { [REINFORCEMENT_METRIC_KEYS.rolloutErrors]: total }),
    ...(skippedGroupCount > 0 && { [REINFORCEMENT_METRIC_KEYS.skippedGroups]: skippedGroupCount }),
  };
}
