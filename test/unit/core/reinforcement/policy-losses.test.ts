import { LOSSES } from '../../../../src/engines/local/compute/losses';
import { policyLoss, policyLossSettings } from '../../../../src/core/reinforcement/policy-losses';
import type { PolicyLossFunction } from '../../../../src/core/reinforcement/policy-losses';

const NAMES: readonly PolicyLossFunction[] = ['importance_sampling', 'ppo', 'cispo', 'dro'];

/** Ratios below, inside and above every default clip range, for good, bad and no advantages. */
const TOKENS = [-3, -1, -0.15, 0, 0.15, 1, 3].flatMap((logRatio) =>
  [-1.5, 0, 2].map((advantage) => ({ p: -3.5 + logRatio, q: -3.5, advantage })),
);

function lossAt(name: PolicyLossFunction, { p, q, advantage }: { p: number; q: number; advantage: number }) {
  const { loss, slopes } = policyLoss(name, { logprobs: [p], sampledLogprobs: [q], advantages: [advantage] });
  return { loss, slope: slopes[0] ?? NaN };
}

describe('hand-made values', () => {
  const doubled = { p: Math.log(0.5), q: Math.log(0.25) }; // ratio 2

  test.each([
    ['importance_sampling', { ...doubled, advantage: 3 }, -6, -6],
    ['ppo: a good token is not pushed beyond 1.2', { ...doubled, advantage: 3 }, -3.6, 0],
    ['ppo: a bad one is pushed back from anywhere', { ...doubled, advantage: -3 }, 6, 6],
    ['cispo: the ratio is a weight', { ...doubled, advantage: 3 }, -6 * Math.log(0.5), -6],
    ['cispo: bounded by 4', { p: -1, q: -5, advantage: 1 }, 4, -4],
    ['dro', { p: -1, q: -3, advantage: 2 }, 2 + 0.025 * 4, 0.05 * 2 - 2],
  ])('%s', (title, token, loss, slope) => {
    const name = NAMES.find((known) => title.startsWith(known)) ?? 'ppo';

    const found = lossAt(name, token);

    expect(found.loss).toBeCloseTo(loss, 12);
    expect(found.slope).toBeCloseTo(slope, 12);
  });
});

describe.each(NAMES)('%s', (name) => {
  test('agrees with the engine that trains', () => {
    for (const token of TOKENS) {
      const engine = LOSSES[name].evaluate(token.p, [token.q, token.advantage, 0], {
        settings: LOSSES[name].settings,
        shared: 0,
      });
      const { loss, slope } = lossAt(name, token);
      expect([token, loss, slope]).toEqual([
        token,
        expect.closeTo(engine.loss, 10),
        expect.closeTo(engine.slope, 10),
      ]);
    }
  });

  test('has the slope of its loss; that of cispo holds the ratio still', () => {
    const step = 1e-6;
    for (const token of TOKENS) {
      const { slope } = lossAt(name, token);
      const shifted = (by: number) => lossAt(name, { ...token, p: token.p + by }).loss;
      if (name === 'cispo') {
        const { loss } = lossAt(name, token);
        expect([token, slope * token.p]).toEqual([token, expect.closeTo(loss, 10)]);
      } else {
        const measured = (shifted(step) - shifted(-step)) / (2 * step);
        expect([token, measured]).toEqual([token, expect.closeTo(slope, 4)]);
      }
    }
  });

  test('adds up over tokens, and leaves out those without mask whatever they hold', () => {
    const first = { p: -4.5, q: -3.5, advantage: 2 };
    const second = { p: -3.35, q: -3.5, advantage: -1.5 };

    const { loss, slopes } = policyLoss(name, {
      logprobs: [first.p, -Infinity, second.p],
      sampledLogprobs: [first.q, 0, second.q],
      advantages: [first.advantage, 1, second.advantage],
      mask: [1, 0, 1],
    });

    const [one, other] = [lossAt(name, first), lossAt(name, second)];
    expect(loss).toBeCloseTo(one.loss + other.loss, 12);
    expect([...slopes]).toEqual([one.slope, 0, other.slope]);
  });

  test('stays finite where the policies have nothing in common', () => {
    const { loss, slope } = lossAt(name, { p: -1, q: -5000, advantage: 1 });

    expect([loss, slope].every((value) => Number.isFinite(Math.fround(value)))).toBe(true);
  });
});

test('without a mask, advantage 0 silences a token in every loss but dro', () => {
  const silent = { p: -1, q: 0, advantage: 0 };

  expect(NAMES.map((name) => lossAt(name, silent).slope !== 0)).toEqual([false, false, false, true]);
});

describe('settings', () => {
  test('are complete, so that no service fills in its own', () => {
    expect(policyLossSettings('cispo')).toEqual({ clip_low_threshold: 0, clip_high_threshold: 4 });
    expect(policyLossSettings('ppo', { clip_high_threshold: 1.3 })).toEqual({
      clip_low_threshold: 0.8,
      clip_high_threshold: 1.3,
    });
    expect(policyLossSettings('importance_sampling')).toEqual({});
  });

  test('are the defaults of the local engine', () => {
    for (const name of NAMES) expect(policyLossSettings(name)).toEqual(LOSSES[name].settings);
  });

  test.each([
    ['ppo', { beta: 1 }, /Unknown setting "beta".*clip_low_threshold, clip_high_threshold/],
    ['importance_sampling', { toString: 1 }, /Unknown setting "toString".*Known: none/],
    ['dro', { beta: NaN }, /beta of dro is NaN/],
    ['ppo', { clip_low_threshold: -0.2 }, /clip_low_threshold of ppo is -0.2/],
    ['ppo', { clip_high_threshold: 0.2 }, /0.8 of ppo is above clip_high_threshold 0.2/],
  ] as const)('of %s refuse %j', (name, chosen, message) => {
    expect(() => policyLossSettings(name, chosen)).toThrow(message);
  });

  test('inputs of different lengths are refused', () => {
    expect(() =>
      policyLoss('ppo', { logprobs: [-1, -1], sampledLogprobs: [-1], advantages: [1, 1] }),
    ).toThrow(/2, 1 tokens/);
  });
});
