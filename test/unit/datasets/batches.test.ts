import fc from 'fast-check';
import { batchIndices, epochOrder, stepsPerEpoch } from '../../../src/core/batches';

const plan = { exampleCount: 10, batchSize: 3, seed: 7 };

test('an epoch uses each example at most once and drops the ragged tail', () => {
  const epoch = [0, 1, 2].flatMap((step) => [...batchIndices({ ...plan, step })]);

  expect(stepsPerEpoch(plan)).toBe(3);
  expect(new Set(epoch).size).toBe(9);
});

test('shuffles each epoch anew, decided by seed and step alone', () => {
  const batch = (step: number, seed = 7) => [...batchIndices({ ...plan, seed, step })];

  expect(batch(4)).toEqual(batch(4));
  expect(batch(0)).not.toEqual(batch(3));
  expect(batch(0)).not.toEqual(batch(0, 8));
  expect([...epochOrder(plan, 1)]).not.toEqual([...epochOrder({ exampleCount: 10, seed: 8 }, 0)]);
});

test('stays the same for ever, because a resumed run must draw the batches of the one it continues', () => {
  expect([0, 1, 2, 3].map((step) => [...batchIndices({ ...plan, step })])).toMatchInlineSnapshot(`
   [
     [
       1,
       2,
       6,
     ],
     [
       5,
       7,
       0,
     ],
     [
       9,
       4,
       8,
     ],
     [
       8,
       7,
       6,
     ],
   ]
  `);
});

test('a dataset smaller than a batch is one batch', () => {
  const batch = batchIndices({ exampleCount: 2, batchSize: 5, seed: 1, step: 9 });

  expect([...batch].sort()).toEqual([0, 1]);
  expect(stepsPerEpoch({ exampleCount: 2, batchSize: 5 })).toBe(1);
});

test('batches are within bounds and without repetition, whatever the plan', () => {
  const plans = fc.record({
    exampleCount: fc.integer({ min: 1, max: 60 }),
    batchSize: fc.integer({ min: 1, max: 20 }),
    seed: fc.integer(),
    step: fc.integer({ min: 0, max: 1000 }),
  });
  fc.assert(
    fc.property(plans, (drawn) => {
      const batch = [...batchIndices(drawn)];
      expect(batch).toHaveLength(Math.min(drawn.batchSize, drawn.exampleCount));
      expect(new Set(batch).size).toBe(batch.length);
      expect(batch.every((index) => index >= 0 && index < drawn.exampleCount)).toBe(true);
    }),
  );
});

test.each([
  { exampleCount: 0, batchSize: 1, seed: 0, step: 0 },
  { exampleCount: 1, batchSize: 0, seed: 0, step: 0 },
  { exampleCount: 1, batchSize: 1, seed: 0, step: -1 },
  { exampleCount: 1, batchSize: 1.5, seed: 0, step: 0 },
])('refuses %j', (bad) => {
  expect(() => batchIndices(bad)).toThrow('No batch');
});
