import { hasConstantReward } from './constant-groups';
import { groupRewards } from './rollout';
import type { RolloutGroup } from './rollout';

/** A group that gets the same reward everywhere is good from here on. */
const GOOD_REWARD = 0.5;

/**
 * What the rollouts of a step, or of a test set, were like: `env/all/…`, and `env/<tag>/…` as soon as any tag names
 * some of the groups and not all. Names are tinker-cookbook's (`compute_trajectory_metrics`), and so are the values, but
 * for what is noted only where it happened (`stop/<reason>`, `parse_error`): its mean over those that have it would always
 * be 1, so it is told as a share of all.
 */
export function rolloutMetrics(groups: readonly RolloutGroup[]): Record<string, number> {
  const rolledOut = groups.filter(({ rollouts }) => rollouts.length > 0);
  const byTag = groupsByTag(rolledOut);
  const isSplit = [...byTag.values()].some((tagged) => tagged.length < rolledOut.length);
  const sections = isSplit ? [...byTag] : [];
  return Object.fromEntries(
    [...sections, ['all', rolledOut] as const].flatMap(([tag, tagged]) =>
      [...metricsOf(tagged)].map(([key, value]) => [`env/${tag}/${key}`, value] as const),
    ),
  );
}

/** Noted where it happened: the sum over all rollouts is a share of them, or how many there are in one. */
const OF_ROLLOUTS = new RegExp(
  `^(${[
    ...['stop/.+', 'max_tokens_reached', 'context_overflow', 'zero_reward_on_limit'],
    'num_truncations_max_turn_tokens',
  ].join('|')})$`,
);
/** Noted by tools of an environment in the turns in which they were called. */
const OF_TOOLS = /^tool_(calls|errors|error\/.+)$/;
/** Noted in the turns in which it happened: their share of all turns. */
const OF_TURNS = /^parse_error(_masked)?$/;

/** Told wherever ends of rollouts are, also where it happened to none: whoever follows a curve must see it fall to 0. */
const ALWAYS_TOLD = ['stop/completed', 'stop/max_tokens', 'max_tokens_reached'];

/** Whether a key is noted only where it happened, so that a missing one is a zero. */
export function isEventKey(key: string): boolean {
  return OF_ROLLOUTS.test(key) || OF_TURNS.test(key) || isToolCount(key);
}

/** Whether a key counts calls of tools: of a rollout it is the sum over its turns, and of many the mean over all. */
export function isToolCount(key: string): boolean {
  return OF_TOOLS.test(key);
}

/** Mean of each key over the records that have it: a key that is missing is not a zero. */
export function meanByKey(records: readonly Readonly<Record<string, number>>[]): Map<string, number> {
  const values = new Map<string, number[]>();
  for (const record of records) {
    for (const [key, value] of Object.entries(record)) {
      const known = values.get(key);
      if (known) known.push(value);
      else values.set(key, [value]);
    }
  }
  return new Map([...values].map(([key, found]) => [key, ratio(sum(found), found.length)]));
}

/** Shares of groups whose rewards differ, are all good, or are all bad. Only the first kind carries a gradient. */
export function groupFractions(groups: readonly RolloutGroup[]): Record<string, number> {
  const constant = groups.filter(hasConstantReward);
  const good = constant.filter((group) => (groupRewards(group)[0] ?? 0) >= GOOD_REWARD);
  return {
    'by_group/frac_mixed': ratio(groups.length - constant.length, groups.length),
    'by_group/frac_all_good': ratio(good.length, groups.length),
    'by_group/frac_all_bad': ratio(constant.length - good.length, groups.length),
  };
}

function groupsByTag(groups: readonly RolloutGroup[]): Map<string, RolloutGroup[]> {
  const byTag = new Map<string, RolloutGroup[]>();
  for (const group of groups) {
    for (const tag of new Set(group.tags)) {
      const tagged = byTag.get(tag);
      if (tagged) tagged.push(group);
      else byTag.set(tag, [group]);
    }
  }
  return byTag;
}

function metricsOf(groups: readonly RolloutGroup[]): Map<string, number> {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const turns = rollouts.flatMap(({ transitions }) => transitions);
  const actionTokens = sum(turns.map((turn) => turn.actionTokens.length));
  const observationTokens = sum(turns.map((turn) => turn.observationTokens.length));
  // One mean over turns and rollouts, because an environment may report a key in either place.
  const records = [...turns, ...rollouts].map((source) => source.metrics);
  const counted = {
    ac_tokens_per_turn: ratio(actionTokens, turns.length),
    ob_tokens_per_turn: ratio(observationTokens, turns.length),
    turns_per_episode: ratio(turns.length, rollouts.length),
    total_episodes: rollouts.length,
    total_turns: turns.length,
    total_ac_tokens: actionTokens,
    total_ob_tokens: observationTokens,
    'reward/total': ratio(sum(groups.flatMap(groupRewards)), rollouts.length),
    ...groupFractions(groups),
  };
  return new Map([
    ...meanByKey(records),
    ...eventRates(records, { rolloutCount: rollouts.length, turnCount: turns.length }),
    ...Object.entries(counted),
  ]);
}

function eventRates(
  records: readonly Readonly<Record<string, number>>[],
  { rolloutCount, turnCount }: { readonly rolloutCount: number; readonly turnCount: number },
): Map<string, number> {
  const keys = records.flatMap((record) => Object.keys(record));
  const always = keys.some((key) => key.startsWith('stop/')) ? ALWAYS_TOLD : [];
  const sums = new Map<string, number>(always.map((key) => [key, 0]));
  for (const [key, value] of records.flatMap((record) => Object.entries(record))) {
    if (isEventKey(key)) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return new Map(
    [...sums].map(([key, total]) => [key, ratio(total, OF_TURNS.test(key) ? turnCount : rolloutCount)]),
  );
}

function ratio(numerator: number, denominator: number): number {
  return denominator === 0 ? 0 : numerator / denominator;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
