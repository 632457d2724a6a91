import { splitTrainTest } from '../../../src/datasets/split';

const rows = Array.from({ length: 20 }, (_, index) => index);

test('holds out as many rows as asked for, in the order of the dataset, decided by the seed', () => {
  const { train, test: heldOut } = splitTrainTest(rows, { testSize: 5, seed: 1 });

  expect(heldOut).toHaveLength(5);
  expect([...train, ...heldOut].sort((a, b) => a - b)).toEqual(rows);
  expect(heldOut).toEqual([...heldOut].sort((a, b) => a - b));
  expect(splitTrainTest(rows, { testSize: 5, seed: 1 }).test).toEqual(heldOut);
  expect(splitTrainTest(rows, { testSize: 5, seed: 2 }).test).not.toEqual(heldOut);
});

test('a fraction holds out at least one row, and 0 none', () => {
  expect(splitTrainTest(rows, { testFraction: 0.25, seed: 1 }).test).toHaveLength(5);
  expect(splitTrainTest(rows, { testFraction: 0.001, seed: 1 }).test).toHaveLength(1);
  expect(splitTrainTest(rows, { testFraction: 0, seed: 1 }).test).toEqual([]);
});

test.each([
  { testSize: 20 },
  { testSize: -1 },
  { testSize: 1.5 },
  { testFraction: 1 },
  { testFraction: 0.99 },
  { testFraction: Number.NaN },
])('refuses %j, which leaves nothing to train on or is no part of the whole', (part) => {
  expect(() => splitTrainTest(rows, { ...part, seed: 1 })).toThrow(/leaves nothing|not a part/);
});
