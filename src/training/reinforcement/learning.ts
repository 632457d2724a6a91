import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { RolloutAdvantage } from '../../core/reinforcement/advantages';
import { advantagesOf, tokenAdvantages } from '../../core/reinforcement/advantages';
import { hasConstantReward, withoutConstantGroups } from '../../core/reinforcement/constant-groups';
import { penalizeKl } from '../../core/reinforcement/kl-penalty';
import type { RolloutGroup } from '../../core/reinforcement/rollout';
import { policyDatums } from '../../core/reinforcement/rollout-datums';
import type { PolicyDatum } from '../../core/reinforcement/rollout-datums';
import type { GroupReference } from './reference-files';

/** A group and, where a penalty needs it, what the reference thinks of it. */
export interface JournalledGroup<Group extends RolloutGroup = RolloutGroup> {
  readonly group: Group;
  readonly reference: GroupReference | null;
}

/** Sequences to learn from, and the reference's log-probabilities of each; null without a penalty. */
export interface LearnedPart {
  readonly datums: readonly PolicyDatum[];
  readonly references: readonly (readonly number[])[] | null;
}

type LearningRules = Pick<
  ReinforcementConfig,
  'advantages' | 'removeConstantRewardGroups' | 'klPenaltyCoef' | 'klDiscountFactor'
>;

/**
 * From journalled groups to what is sent of them: filter, advantages, sequences, penalty. A function of rules and groups alone;
 * the sequences of a group are remembered for as long as the group is.
 */
export class Learner {
  private readonly known = new WeakMap<RolloutGroup, readonly PolicyDatum[]>();

  constructor(private readonly rules: LearningRules) {}

  learn(journalled: readonly JournalledGroup[]): LearnedPart {
    const { rules } = this;
    const present = journalled.filter(({ group }) => group.rollouts.length > 0);
    const groups = keptGroups(
      rules,
      present.map(({ group }) => group),
    );
    const datums = groups.flatMap((group, groupIndex) =>
      this.sequencesOf(group).map((datum) => ({ ...datum, groupIndex })),
    );
    if (rules.klPenaltyCoef === 0) return { datums, references: null };
    const references = new Map(present.map(({ group, reference }) => [group, reference]));
    const aligned = groups.flatMap((group) => (references.get(group) ?? []).flat());
    const penalized = penalizeKl(datums, aligned, {
      coefficient: rules.klPenaltyCoef,
      discount: rules.klDiscountFactor,
      isCentred: true,
    });
    return { datums: penalized.datums, references: aligned };
  }

  /** What `learn` will give of one group, worked out before the others are there; empty where they have a say in it. */
  learnAhead({ group }: JournalledGroup): readonly PolicyDatum[] {
    const { removeConstantRewardGroups, klPenaltyCoef } = this.rules;
    const isOpen = klPenaltyCoef > 0 || (removeConstantRewardGroups && hasConstantReward(group));
    return isOpen ? [] : this.sequencesOf(group);
  }

  private sequencesOf(group: RolloutGroup): readonly PolicyDatum[] {
    const known = this.known.get(group);
    if (known) return known;
    const sequences = policyDatums([group], advantagesFor(this.rules, [group]));
    this.known.set(group, sequences);
    return sequences;
  }
}

function keptGroups(
  { removeConstantRewardGroups }: LearningRules,
  groups: readonly RolloutGroup[],
): readonly RolloutGroup[] {
  return removeConstantRewardGroups ? withoutConstantGroups(groups) : groups;
}

/** The advantages of one group's rollouts; null where each token has its own. */
export function groupAdvantagesOf(rules: LearningRules, group: RolloutGroup): number[] | null {
  if (rules.advantages.discount !== undefined) return null;
  const [advantages = []] = advantagesFor(rules, [group]);
  return Array.from(advantages, (advantage) => (typeof advantage === 'number' ? advantage : 0));
}

function advantagesFor(
  { advantages }: LearningRules,
  groups: readonly RolloutGroup[],
): readonly ArrayLike<RolloutAdvantage>[] {
  const { baseline, normalize, epsilon, discount } = advantages;
  if (discount !== undefined) return groups.map((group) => tokenAdvantages(group, discount));
  return advantagesOf(groups, {
    baseline: baseline === 'groupMean' ? 'group-mean' : 'leave-one-out',
    isScaled: normalize,
    epsilon,
  });
}
