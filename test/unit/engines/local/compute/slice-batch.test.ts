import type { Datum } from '../../../../../src/core/datum';
import { cutBatch, joinDatums } from '../../../../../src/engines/local/compute/slice-batch';

const LOSS = { name: 'cross_entropy' as const, settings: {} };

function datums(lengths: readonly number[]): Datum[] {
  return lengths.map((length, index) => ({
    tokens: new Int32Array(length).fill(index),
    targetTokens: new Int32Array(length).fill(index),
    lossInputs: { weights: new Float32Array(length).fill(index) },
  }));
}

function cut(lengths: readonly number[]): (readonly number[])[] {
  return cutBatch(datums(lengths))
    .map((data) => joinDatums(data, LOSS))
    .map((slice) => slice.lengths);
}

test.each([
  ['one datum', [40], [[40]]],
  ['a few short ones', [10, 20, 30], [[10, 20, 30]]],
  [
    'more than that, in two halves',
    [40, 40, 40, 40],
    [
      [40, 40],
      [40, 40],
    ],
  ],
  ['one long datum, which is never cut', [700], [[700]]],
  ['a long one among short ones', [4, 300, 4], [[4], [300, 4]]],
])('cuts %s', (_, lengths, expected) => {
  expect(cut(lengths)).toEqual(expected);
});

test.each([
  [128, 16],
  [32, 64],
  [200, 21],
])('%i datums of %i make slices of much the same size, as many as threads can share', (count, length) => {
  const slices = cut(Array.from({ length: count }, () => length));

  const sizes = slices.map((lengths) => lengths.length * length);
  expect(slices.length % 4).toBe(0);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(256 + length);
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(length);
});

test('keeps every datum, in order, with its values', () => {
  const lengths = Array.from({ length: 97 }, (_, index) => 1 + ((index * 37) % 90));
  const slices = cutBatch(datums(lengths)).map((data) => joinDatums(data, LOSS));

  const expected = lengths.flatMap((length, index) => Array.from({ length }, () => index));
  expect(slices.flatMap(({ lengths: own }) => own)).toEqual(lengths);
  expect(slices.flatMap(({ tokens }) => [...tokens])).toEqual(expected);
  expect(slices.flatMap(({ lossInputs }) => [...(lossInputs[0] ?? [])])).toEqual(expected);
  expect(slices.every(({ tokens }) => tokens.length > 0)).toBe(true);
});
