import { processorMs, threadTime, watchTime } from '../../../src/sandboxes/used-time';

/** How it ends, and after how many looks. */
function watched(used: readonly (number | null)[], patienceMs: number) {
  return new Promise<[string, number]>((resolve) => {
    let looks = 0;
    const end = (how: string) => () => {
      resolve([how, looks]);
    };
    watchTime({
      limitMs: 20,
      patienceMs,
      usedMs: () => used[Math.min(looks++, used.length - 1)] ?? null,
      onLimit: end('limit'),
      onStarved: end('starved'),
    });
  });
}

test('a limit is reached when its time was used, however long that took', async () => {
  expect(await watched([5, 12, 20], 60_000)).toEqual(['limit', 3]);
});

test.each([[0], [null]])('work that used %s of its limit is given up as starved', async (used) => {
  const [how] = await watched([used], 100);

  expect(how).toBe('starved');
});

test('a limit beyond what a timer holds does not go off at once', () => {
  jest.useFakeTimers();
  let looks = 0;
  const usedMs = () => (looks += 1);
  const stop = watchTime({ limitMs: 3e9, patienceMs: 9e9, usedMs, onLimit: usedMs, onStarved: usedMs });
  jest.advanceTimersByTime(1e9);
  stop();
  jest.useRealTimers();

  expect(looks).toBe(0);
});

test('nothing is told of work that has ended', async () => {
  let told = 0;
  const tell = () => {
    told++;
  };
  const stop = watchTime({ limitMs: 5, patienceMs: 10, usedMs: () => 9, onLimit: tell, onStarved: tell });
  stop();

  await new Promise((resolve) => setTimeout(resolve, 40));

  expect(told).toBe(0);
});

test('tells the processor time of this process, and nothing of one that is not there', () => {
  const before = processorMs(process.pid) ?? NaN;
  const sums = Array.from({ length: 3_000_000 }, (_, index) => Math.sqrt(index));

  expect(sums.length + (processorMs(process.pid) ?? NaN)).toBeGreaterThan(sums.length + before);
  expect(threadTime(2 ** 30, 2 ** 30)).toBeNull();
  expect(processorMs(2 ** 30)).toBeNull();
});
