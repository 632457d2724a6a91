import fc from 'fast-check';
import { advantagesOf } from '../../../../src/core/reinforcement/advantages';
import { datumText, targetLogprobs } from '../../../../src/core/reinforcement/policy-logprobs';
import {
  policyDatums,
  rolloutDatums,
  withAdvantages,
} from '../../../../src/core/reinforcement/rollout-datums';
import type { PolicyDatum } from '../../../../src/core/reinforcement/rollout-datums';
import { groupOf, rollout, turn } from './sample-rollouts';

function shown({ datum, mask }: PolicyDatum): Record<string, number[]> {
  return {
    tokens: [...datum.tokens],
    targets: [...datum.targetTokens],
    logprobs: [...(datum.lossInputs['logprobs'] ?? [])],
    advantages: [...(datum.lossInputs['advantages'] ?? [])],
    mask: [...mask],
  };
}

test('a turn that continues the ones before shares their sequence, another begins one', () => {
  const turns = [turn([1, 2], [3, 4]), turn([1, 2, 3, 4, 5], [6]), turn([1, 5], [7])];

  expect(rolloutDatums(rollout(turns), 2).map(shown)).toEqual([
    {
      tokens: [1, 2, 3, 4, 5],
      targets: [2, 3, 4, 5, 6],
      logprobs: [0, -0.25, -0.5, 0, -0.25],
      advantages: [0, 2, 2, 0, 2],
      mask: [0, 1, 1, 0, 1],
    },
    { tokens: [1, 5], targets: [5, 7], logprobs: [0, -0.25], advantages: [0, 2], mask: [0, 1] },
  ]);
});

test('an observation that ends before the sequence does is no continuation', () => {
  const turns = [turn([1, 2], [3, 4]), turn([1, 2, 3], [5])];

  expect(rolloutDatums(rollout(turns), 1).map(datumText)).toEqual([
    [1, 2, 3, 4],
    [1, 2, 3, 5],
  ]);
});

test('a masked turn keeps its tokens and log-probabilities and teaches nothing', () => {
  const turns = [turn([1], [2, 3], { metrics: { parse_error_masked: 1 } }), turn([1, 2, 3, 4], [5])];

  expect(rolloutDatums(rollout(turns), 3).map(shown)).toEqual([
    {
      tokens: [1, 2, 3, 4],
      targets: [2, 3, 4, 5],
      logprobs: [-0.25, -0.5, 0, -0.25],
      advantages: [0, 0, 0, 3],
      mask: [0, 0, 0, 1],
    },
  ]);
});

test('a rollout that ended before it began gives no datum, and neither does a single token', () => {
  expect(rolloutDatums(rollout([turn([], [])]), 1)).toEqual([]);
  expect(rolloutDatums(rollout([turn([1], [])]), 1)).toEqual([]);
  expect(rolloutDatums(rollout([]), 1)).toEqual([]);
});

test('advantages may differ from token to token', () => {
  const turns = [turn([1], [2, 3]), turn([1, 2, 3], [4])];

  const [datum] = rolloutDatums(rollout(turns), [[1, 2], [3]]);

  expect([...(datum?.advantages ?? [])]).toEqual([1, 2, 3]);
});

test('a batch keeps the order of groups and rollouts', () => {
  const groups = [groupOf([1, 0]), groupOf([3])];

  const datums = policyDatums(groups, advantagesOf(groups));

  expect(
    datums.map(({ groupIndex, rolloutIndex, advantages }) => [groupIndex, rolloutIndex, advantages[1]]),
  ).toEqual([
    [0, 0, 0.5],
    [0, 1, -0.5],
    [1, 0, 0],
  ]);
});

test('other advantages replace those that are sent, and leave the first datum alone', () => {
  const [datum] = rolloutDatums(rollout([turn([1], [2])]), 1);
  if (!datum) throw new Error('no datum');

  const changed = withAdvantages(datum, Float32Array.of(5));

  expect(shown(changed)['advantages']).toEqual([5]);
  expect([...changed.advantages]).toEqual([5]);
  expect(shown(datum)['advantages']).toEqual([1]);
});

test("another model's log-probabilities are asked for the whole text and counted from its second token", () => {
  const [datum] = rolloutDatums(rollout([turn([1, 2], [3])]), 1);

  expect(datum && datumText(datum)).toEqual([1, 2, 3]);
  expect([...targetLogprobs([null, -1, -0.5])]).toEqual([-1, -0.5]);
});

test.each([
  ['a token without log-probability', [-1], /turn 2.*2 action tokens and 1 finite/i],
  ['a log-probability that is no number', [-1, NaN], /turn 2.*2 action tokens and 1 finite/i],
])('refuses %s', (_name, logprobs, message) => {
  const turns = [turn([1], [2]), turn([1, 2], [3, 4], { logprobs })];

  expect(() => rolloutDatums(rollout(turns), 1)).toThrow(message);
});

test('refuses advantages of other groups, rollouts or tokens', () => {
  const groups = [groupOf([1, 0])];

  expect(() => policyDatums(groups, [])).toThrow(/1 groups and 0 advantages/);
  expect(() => policyDatums(groups, [[1]])).toThrow(/2 rollouts of group g and 1 advantages/);
  expect(() => rolloutDatums(rollout([turn([1], [2, 3])]), [[1]])).toThrow(/2 action tokens of turn 1/);
});

test('whatever the turns, each written token is learnt from once, at its own place, with its own log-probability', () => {
  const turns = fc.array(
    fc.record({
      isExtending: fc.boolean(),
      seen: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }),
      written: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 }),
    }),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(turns, (script) => {
      let text: number[] = [];
      let drawn = 0;
      const transitions = script.map(({ isExtending, seen, written }) => {
        const observation = isExtending ? [...text, ...seen] : seen;
        text = [...observation, ...written];
        return turn(observation, written, { logprobs: written.map(() => -(drawn += 1)) });
      });

      const datums = rolloutDatums(rollout(transitions), 1);

      const learnt = datums.flatMap(({ datum, mask, logprobs }) =>
        [...mask].flatMap((value, index) =>
          value === 1 ? [[datum.targetTokens[index], logprobs[index]]] : [],
        ),
      );
      const written = transitions.flatMap(({ actionTokens, logprobs }) =>
        actionTokens.map((token, index) => [token, logprobs[index]]),
      );
      expect(learnt).toEqual(written);
      for (const { datum, mask, advantages } of datums) {
        expect([...datum.tokens.slice(1)]).toEqual([...datum.targetTokens.slice(0, -1)]);
        expect([...advantages]).toEqual([...mask]);
      }
    }),
  );
});
