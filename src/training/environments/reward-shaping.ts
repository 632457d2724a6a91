import { DomainError } from '../../core/errors';
import { checkedGrades } from '../rollouts/environment-answers';
import type {
  EnvironmentDataset,
  EnvironmentGroup,
  PlayedRollout,
  RolloutGrade,
} from './environment-dataset';

/** What a plug-in file exports under `rewardShaping`: a grade for each rollout of a problem, on top of what it earned. */
export type RewardShaping = (
  played: readonly PlayedRollout[],
  context: { readonly options: Readonly<Record<string, unknown>>; readonly signal: AbortSignal },
) => readonly RolloutGrade[] | Promise<readonly RolloutGrade[]>;

type ShapeRewards = NonNullable<EnvironmentGroup['rewards']>;

/** The shaping of the plug-in file that a config names. */
export function rewardShapingOf(
  { plugin, options }: { readonly plugin: string; readonly options: Readonly<Record<string, unknown>> },
  {
    file,
    rewardShaping,
  }: { readonly file: string | null; readonly rewardShaping?: ReadonlyMap<string, unknown> },
): ShapeRewards {
  const found = rewardShaping?.get(plugin);
  if (isShaping(found)) return (played, { signal }) => found(played, { options, signal });
  const known = [...(rewardShaping?.keys() ?? [])].join(', ') || 'none';
  throw new DomainError(
    'bad-plugin',
    `rewardShaping: ${file ?? 'no plug-in file'} has no reward shaping "${plugin}". It has: ${known}. ` +
      'Export { rewardShaping: { name: function } }.',
  );
}

/** The same problems with other rewards to train on; what is held out is measured by the environment's own. */
export function shapedEnvironments(dataset: EnvironmentDataset, shape: ShapeRewards): EnvironmentDataset {
  return { ...dataset, groupAt: (index) => shapedGroup(dataset.groupAt(index), shape) };
}

function shapedGroup(group: EnvironmentGroup, shape: ShapeRewards): EnvironmentGroup {
  return {
    ...group,
    make: (member, bounds) => group.make(member, bounds),
    async rewards(played, options) {
      const own = group.rewards && checkedGrades(await group.rewards(played, options), played.length);
      const graded = played.map((each, index) => withGrade(each, own?.[index]));
      const added = checkedGrades(await shape(graded, options), played.length);
      return added.map(({ reward, metrics }, index) => ({
        reward: (own?.[index]?.reward ?? 0) + reward,
        metrics: { ...own?.[index]?.metrics, ...metrics },
      }));
    },
  };
}

function withGrade(played: PlayedRollout, grade: RolloutGrade | undefined): PlayedRollout {
  const { rollout } = played;
  if (grade === undefined) return played;
  const metrics = { ...rollout.metrics, ...grade.metrics };
  return { ...played, rollout: { ...rollout, finalReward: rollout.finalReward + grade.reward, metrics } };
}

function isShaping(value: unknown): value is RewardShaping {
  return typeof value === 'function';
}
