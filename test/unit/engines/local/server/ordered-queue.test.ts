import fc from 'fast-check';
import { OrderedQueue } from '../../../../../src/engines/local/server/ordered-queue';

/** An order of arrival of 1…n in which some numbers are refused instead. */
const arrivals = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }).chain((refusals) =>
  fc.tuple(
    fc.constant(refusals),
    fc.shuffledSubarray(
      refusals.map((_, index) => index + 1),
      { minLength: refusals.length, maxLength: refusals.length },
    ),
  ),
);

test('runs what was not refused by number, one at a time, whatever the order of arrival', async () => {
  await fc.assert(
    fc.asyncProperty(arrivals, async ([refusals, order]) => {
      const queue = new OrderedQueue(true);
      const done: number[] = [];
      let running = 0;
      const results: Promise<void>[] = [];
      for (const sequence of order) {
        if (refusals[sequence - 1]) queue.refuse(sequence);
        else {
          const work = async (): Promise<void> => {
            expect(++running).toBe(1);
            await Promise.resolve();
            done.push(sequence);
            running--;
          };
          results.push(queue.submit(sequence, work));
        }
      }

      await Promise.all(results);

      expect(done).toEqual(
        [...order].sort((one, other) => one - other).filter((sequence) => !refusals[sequence - 1]),
      );
    }),
  );
});

test('goes on after work that throws at once', async () => {
  const queue = new OrderedQueue(true);
  const failing = queue.submit(1, () => {
    throw new Error('at once');
  });
  const next = queue.submit(2, async () => 'done');

  await expect(failing).rejects.toThrow('at once');
  await expect(next).resolves.toBe('done');
});

test('names the number a held request waits for', () => {
  const queue = new OrderedQueue(true);
  void queue.submit(4, async () => null);

  expect(queue.missingBefore(4)).toBe(1);
  expect(queue.missingBefore(1)).toBeNull();
  expect(queue.following()).toBe(5);
});

test('fails what it still holds when it is closed, and what comes later', async () => {
  const queue = new OrderedQueue(true);
  const held = queue.submit(2, async () => null);
  queue.close('the test is over');

  await expect(held).rejects.toMatchObject({
    category: 'user',
    message: expect.stringContaining('the test is over') as string,
  });
  await expect(queue.submit(1, async () => null)).rejects.toThrow('the test is over');
});
