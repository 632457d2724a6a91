import { LOSSES } from '../../../src/engines/local/compute/losses';
import golden from './losses.json';

/** Losses and gradients by PyTorch's autograd: see `source` in the file. */

interface Case {
  readonly logprobs: readonly number[];
  readonly sampled: readonly number[];
  readonly advantages: readonly number[];
  readonly mask: readonly number[];
}

function evaluate(
  name: 'gspo' | 'stable_reinforce',
  { logprobs, sampled, advantages, mask }: Case,
  settings: Readonly<Record<string, number>>,
): { loss: number; slopes: number[] } {
  const definition = LOSSES[name];
  const inputs = [sampled, advantages, mask].map((values) => Float32Array.from(values));
  const shared = definition.shared?.(Float32Array.from(logprobs), inputs) ?? 0;
  const tokens = logprobs.map((p, index) =>
    definition.evaluate(p, [sampled[index] ?? NaN, advantages[index] ?? NaN, mask[index] ?? NaN], {
      settings,
      shared,
    }),
  );
  return {
    loss: tokens.reduce((sum, { loss }) => sum + loss, 0),
    slopes: tokens.map(({ slope }) => slope),
  };
}

function expectClose(found: ReturnType<typeof evaluate>, expected: ReturnType<typeof evaluate>): void {
  expect(found.loss).toBeCloseTo(expected.loss, 6);
  for (const [index, slope] of expected.slopes.entries()) expect(found.slopes[index]).toBeCloseTo(slope, 6);
}

test.each(golden.gspo.map((row) => [row]))('gspo: one ratio a sequence, clipped (%#)', (row) => {
  const settings = { clip_low_threshold: row.low, clip_high_threshold: row.high };

  expectClose(evaluate('gspo', row, settings), row);
});

test('gspo: some cases are clipped, some are not', () => {
  const clipped = golden.gspo.filter(({ slopes }) => slopes.includes(0));

  expect(clipped.length).toBeGreaterThan(2);
  expect(clipped.length).toBeLessThan(golden.gspo.length);
});

test.each(golden.stable.map((row) => [row]))('stable_reinforce: truncated weights (%#)', (row) => {
  expectClose(evaluate('stable_reinforce', row, { kl_coeff: row.kl }), row);
});
