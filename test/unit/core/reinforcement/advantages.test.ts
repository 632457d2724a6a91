import {
  advantagesOf,
  DEFAULT_ADVANTAGES,
  discountedFutureSums,
  groupAdvantages,
  tokenAdvantages,
  tokenReturns,
} from '../../../../src/core/reinforcement/advantages';
import { hasConstantReward, withoutConstantGroups } from '../../../../src/core/reinforcement/constant-groups';
import { oldestPolicyVersion, totalReward } from '../../../../src/core/reinforcement/rollout';
import { expectEach, groupOf, rollout, turn } from './sample-rollouts';

const LEAVE_ONE_OUT = { ...DEFAULT_ADVANTAGES, baseline: 'leave-one-out' } as const;
const SCALED = { ...DEFAULT_ADVANTAGES, isScaled: true };

test('a total is what the turns earned and what the group gave', () => {
  const turns = [turn([1], [2], { reward: 0.5 }), turn([1, 2], [3], { reward: -2 })];

  expect(totalReward(rollout(turns, { finalReward: 4 }))).toBe(2.5);
});

describe('advantages of a group', () => {
  test.each([
    ['less the mean', DEFAULT_ADVANTAGES, [1, 0, 0, 0], [0.75, -0.25, -0.25, -0.25]],
    ['less the mean of the others', LEAVE_ONE_OUT, [1, 0, 0, 2], [1 - 2 / 3, -1, -1, 2 - 1 / 3]],
    [
      'divided by the deviation',
      { ...SCALED, epsilon: 0 },
      [2, 4, 6],
      [-1, 0, 1], // deviation with n − 1: 2
    ],
    ['divided by deviation and epsilon', { ...SCALED, epsilon: 2 }, [2, 4, 6], [-0.5, 0, 0.5]],
    ['one rollout has nothing to compare with', SCALED, [5], [0]],
    ['so with the mean of no others', LEAVE_ONE_OUT, [5], [0]],
    ['no rollouts', DEFAULT_ADVANTAGES, [], []],
  ])('%s', (_name, options, rewards, expected) => {
    expectEach(groupAdvantages(rewards, options), expected);
  });

  test.each([DEFAULT_ADVANTAGES, LEAVE_ONE_OUT, SCALED])(
    'a constant reward that float32 cannot hold gives exact zeros whatever the size of the group (%j)',
    (options) => {
      for (const count of [2, 3, 7, 10, 64, 1000]) {
        const advantages = groupAdvantages(
          Array.from({ length: count }, () => 0.1),
          options,
        );
        expect(advantages.every((value) => value === 0)).toBe(true);
      }
    },
  );

  test('rounding noise between equal rewards is not blown up to advantages of ±0.7', () => {
    const advantages = groupAdvantages([1, 1 + 2 ** -23], SCALED);

    expect(Math.max(...advantages)).toBeLessThan(0.2);
  });

  test.each([NaN, Infinity, -Infinity, 1e39])('refuses the reward %p and says whose it is', (reward) => {
    expect(() => groupAdvantages([0, reward])).toThrow(/rollout 2/);
  });

  test('each group is its own', () => {
    const advantages = advantagesOf([groupOf([1, 0]), groupOf([7, 7, 7])]);

    expect(advantages.map((values) => [...values])).toEqual([
      [0.5, -0.5],
      [0, 0, 0],
    ]);
  });
});

describe('returns of tokens', () => {
  const turns = [turn([1], [2, 3], { reward: 1 }), turn([1, 2, 3, 4], [5, 6], { reward: 2 })];

  test('a reward falls on the last token of its turn, the group reward on the last of all', () => {
    expect(tokenReturns(rollout(turns, { finalReward: 4 }), 0.5)).toEqual([
      [0.5 + 0.125 * 6, 1 + 0.25 * 6],
      [0.5 * 6, 6],
    ]);
  });

  test('without discount every token earns all that is to come', () => {
    expect(tokenReturns(rollout(turns, { finalReward: 4 }), 1)).toEqual([
      [7, 7],
      [6, 6],
    ]);
  });

  test('discount 0 leaves each reward on its own token', () => {
    expect(tokenReturns(rollout(turns), 0)).toEqual([
      [0, 1],
      [0, 2],
    ]);
  });

  test('the reward of a turn in which nothing was written goes to the token before', () => {
    const silent = [...turns, turn([1, 2, 3, 4, 5, 6], [], { reward: 8 })];

    expect(tokenReturns(rollout(silent), 0.5)).toEqual([[0.5 + 0.125 * 10, 1 + 0.25 * 10], [5, 10], []]);
  });

  test('advantages of tokens are those of rollouts where the reward comes at the end and nothing is discounted', () => {
    const group = groupOf([1, 0, 0.25]);

    const ofTokens = tokenAdvantages(group, 1).map((turns) => turns[0]?.[0] ?? NaN);

    const [ofRollouts = []] = advantagesOf([group]);
    expectEach(ofTokens, ofRollouts);
  });

  test('later tokens of a rollout are judged against the same baseline', () => {
    const group = groupOf([], { rollouts: [rollout(turns), rollout([turn([1], [9], { reward: 1 })])] });

    expect(tokenAdvantages(group, 1)).toEqual([
      [
        [1, 1],
        [0, 0],
      ],
      [[-1]],
    ]);
  });

  test('a rollout without words counts in the baseline', () => {
    const group = groupOf([], {
      rollouts: [rollout([turn([], [], { reward: -4 })]), rollout([turn([1], [9], { reward: 2 })])],
    });

    expect(tokenAdvantages(group, 0.5)).toEqual([[[]], [[3]]]);
  });

  test('future sums', () => {
    expect([...discountedFutureSums([1, 0, 4], 0.5)]).toEqual([2, 2, 4]);
    expect([...discountedFutureSums([], 0.5)]).toEqual([]);
  });
});

describe('groups of one reward', () => {
  test('are those whose totals are exactly equal', () => {
    expect(hasConstantReward(groupOf([0.3, 0.3]))).toBe(true);
    expect(hasConstantReward(groupOf([0.1 + 0.2, 0.3]))).toBe(false);
    expect(hasConstantReward(groupOf([]))).toBe(true);
  });

  test('leave together with their tags', () => {
    const groups = [
      groupOf([1, 1], { id: 'a', tags: ['math'] }),
      groupOf([1, 0], { id: 'b', tags: ['tool'] }),
      groupOf([0, 0], { id: 'c', tags: ['math'] }),
    ];

    expect(withoutConstantGroups(groups)).toEqual([groups[1]]);
  });

  test('stay, the first one, where there are no others', () => {
    const groups = [groupOf([1, 1], { id: 'a' }), groupOf([0, 0], { id: 'b' })];

    expect(withoutConstantGroups(groups)).toEqual([groups[0]]);
    expect(withoutConstantGroups([])).toEqual([]);
  });
});

test('a group is as old as its oldest words', () => {
  const turns = [
    turn([1], [2], { policyVersion: 7 }),
    turn([1, 2], [3], { policyVersion: 5 }),
    turn([1, 2, 3], [], { policyVersion: 1 }),
  ];

  expect(oldestPolicyVersion(groupOf([], { rollouts: [rollout(turns)] }))).toBe(5);
  expect(oldestPolicyVersion(groupOf([]))).toBeNull();
});
