import { countText } from '../../../../src/core/metrics/counted-text';
import { bitsPerByte, meanNll, supervisedMetrics } from '../../../../src/core/metrics/supervised-metrics';
import { readVectors } from '../../renderers/vector-files';

/** Token ids are code points; 0 and 1 are special. */
const tokenizer = {
  decode: (tokens: readonly number[]) => String.fromCodePoint(...tokens),
  isSpecial: (token: number) => token < 2,
};

function sequence(logprobs: readonly number[], weights: readonly number[], targets?: readonly number[]) {
  const tokens = Int32Array.from(targets ?? weights.map(() => 97));
  return { logprobs, weights, ...countText(tokenizer, tokens, weights) };
}

interface Batch {
  readonly logprobs: number[][];
  readonly weights: number[][];
  readonly target_tokens?: number[][];
}
type Expected = number | { $nan: true };

function sequencesOf({ logprobs, weights, target_tokens }: Batch) {
  return logprobs.map((values, index) => sequence(values, weights[index] ?? [], target_tokens?.[index]));
}

test.each([
  ['supervised.common.compute_mean_nll', meanNll],
  ['supervised.common.compute_bpb', bitsPerByte],
])('agrees with the reference: %s', (source, metric) => {
  const cases = readVectors<Batch, Expected>('sl_metrics.json', source);

  for (const { input, expected } of cases ?? []) {
    const value = metric(sequencesOf(input));
    if (typeof expected === 'number') expect(value).toBeCloseTo(expected, 12);
    else expect(value).toBeNull();
  }
});

test('weighs tokens of the whole batch, not sequences', () => {
  const batch = [sequence([-1, -2], [1, 1]), sequence([-4], [0.5])];

  expect(meanNll(batch)).toBeCloseTo((1 + 2 + 2) / 2.5, 12);
});

test('counts bytes of characters, and weights only select', () => {
  const batch = [sequence([-2, -1], [0, 0.5], [97, 26085])];

  // U+65E5 has three bytes.
  expect(bitsPerByte(batch)).toBeCloseTo(1 / (Math.LN2 * 3), 12);
});

test('decodes characters that span tokens together', () => {
  const bytes = [0xe6, 0x97, 0xa5];
  const byteTokenizer = {
    decode: (tokens: readonly number[]) => Buffer.from([...tokens]).toString('utf8'),
    isSpecial: () => false,
  };

  expect(countText(byteTokenizer, Int32Array.from(bytes), [1, 1, 1])).toEqual({
    counted: Uint8Array.from([1, 1, 1]),
    countedBytes: 3,
  });
});

test('ignores impossible tokens that carry no weight', () => {
  expect(meanNll([sequence([-Infinity, -1], [0, 1])])).toBe(1);
});

test('says null rather than a number where nothing counts', () => {
  const batch = [sequence([-1], [0])];

  expect(supervisedMetrics(batch)).toEqual({
    'train/nll': null,
    'train/bpb': null,
    'train/tokens': 1,
    'train/loss_tokens': 0,
    'train/sequences': 1,
  });
});
