import { totalReward } from '../../../../src/core/reinforcement/rollout';
import type {
  EnvironmentDataset,
  PlayedRollout,
} from '../../../../src/training/environments/environment-dataset';
import { pluginEnvironments } from '../../../../src/training/environments/plugin-environments';
import type { RewardShaping } from '../../../../src/training/environments/reward-shaping';
import { rewardShapingOf, shapedEnvironments } from '../../../../src/training/environments/reward-shaping';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import { scriptedPolicy, siteWith } from '../rollouts/scripted-policy';

/** Every reply earns 1, and member m of its group m more. */
const ranked = {
  problems: ['a'],
  testProblems: ['b'],
  make: () => ({
    initialObservation: () => ({ messages: [{ role: 'user', content: 'say x' }] }),
    step: () => ({ reward: 1, isDone: true, nextMessages: [] }),
  }),
  rewards: (played: readonly unknown[]) =>
    played.map((_, index) => ({ reward: index, metrics: { rank: index } })),
};

const doubled: RewardShaping = (played, { options }) =>
  played.map(({ rollout }) => ({
    reward: totalReward(rollout),
    metrics: { factor: Number(options['factor']) },
  }));

const asked = { plugin: 'mine', options: { factor: 2 } };

async function dataset(): Promise<EnvironmentDataset> {
  const plugins = { file: 'everstep.config.ts', environments: new Map([['ranked', ranked]]) };
  return pluginEnvironments(plugins, { environment: 'ranked', options: {}, testSize: 0 });
}

async function shapedBy(shaping: RewardShaping): Promise<EnvironmentDataset> {
  const registry = { file: 'everstep.config.ts', rewardShaping: new Map([['mine', shaping]]) };
  return shapedEnvironments(await dataset(), rewardShapingOf(asked, registry));
}

function sample(from: EnvironmentDataset | null) {
  if (from === null) throw new Error('there is no test set');
  return sampleGroup(
    siteWith(scriptedPolicy(() => 'x<|end|>')),
    { group: from.groupAt(0), groupSize: 3, seeds: () => 0, policyVersion: 0 },
    { signal: new AbortController().signal },
  );
}

test('adds to what the environment and its group gave, which it sees', async () => {
  const { rollouts } = await sample(await shapedBy(doubled));

  expect(rollouts.map(totalReward)).toEqual([2, 4, 6]);
  expect(rollouts.map(({ metrics }) => metrics)).toEqual([0, 1, 2].map((rank) => ({ rank, factor: 2 })));
});

test('leaves held-out problems as the environment rewards them', async () => {
  const { rollouts } = await sample((await shapedBy(doubled)).test);

  expect(rollouts.map(totalReward)).toEqual([1, 2, 3]);
});

test.each<[string, (played: readonly PlayedRollout[]) => { reward: number }[]]>([
  ['gives too few', () => [{ reward: 1 }]],
  ['gives what is no number', (played) => played.map(() => ({ reward: NaN }))],
])('fails its group where it %s', async (_what, shaping) => {
  await expect(sample(await shapedBy(shaping))).rejects.toThrow(/environment_garbage/);
});

test('a name that the plug-in file has not is refused with those it has', () => {
  const registry = { file: 'everstep.config.ts', rewardShaping: new Map([['shorter', doubled]]) };

  expect(() => rewardShapingOf(asked, registry)).toThrow(
    'rewardShaping: everstep.config.ts has no reward shaping "mine". It has: shorter.',
  );
});
