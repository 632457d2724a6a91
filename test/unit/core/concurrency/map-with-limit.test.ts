import { mapWithLimit } from '../../../../src/core/concurrency/map-with-limit';

test('keeps the order of its items, whatever order they are done in, with no more at once than the limit', async () => {
  let running = 0;
  let most = 0;

  const results = await mapWithLimit([30, 1, 20, 2], 2, async (milliseconds, index) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    running -= 1;
    return `${index}: ${milliseconds}`;
  });

  expect(results).toEqual(['0: 30', '1: 1', '2: 20', '3: 2']);
  expect(most).toBe(2);
});

test('begins nothing more once a call has failed', async () => {
  const begun: number[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });

  const mapped = mapWithLimit([0, 1, 2, 3], 2, async (item) => {
    begun.push(item);
    if (item === 0) throw new Error('no answer');
    await held;
  });

  await expect(mapped).rejects.toThrow('no answer');
  release();
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([0, 1]);
});
