import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBenchmarkProgress } from '../../../src/client/eval-progress';
import type { ShardCounts } from '../../../src/core/benchmark-run';
import { NO_COUNTS } from '../../../src/core/benchmark-run';
import { meanOf } from '../../../src/core/statistics/mean';
import { wilsonInterval, Z_95 } from '../../../src/core/statistics/wilson-interval';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-progress-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function intervalOf(numSamples: number, ...shards: Partial<ShardCounts>[]) {
  const journal = join(folder, 'gsm8k', 'journal');
  const plan = { shards: shards.map(() => ({})), exampleCount: 10, numSamples };
  shards.forEach((counts, index) => {
    mkdirSync(join(journal, `shard-${index}`), { recursive: true });
    const text = JSON.stringify({ ...NO_COUNTS, ...counts });
    writeFileSync(join(journal, `shard-${index}`, 'progress.json'), text);
  });
  writeFileSync(join(journal, 'plan.json'), JSON.stringify(plan));
  return (await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' }))?.interval;
}

test("is Wilson's where each example is asked once", async () => {
  const counts = { done: 8, rewardSum: 6, rewardSquares: 6 };

  expect(await intervalOf(1, counts)).toEqual(wilsonInterval(6, 8));
});

test('has its error from the means of the examples where each is asked several times', async () => {
  // Three examples of two samples: both right, both wrong, one of each.
  const first = { done: 4, rewardSum: 2, rewardSquares: 2, examples: { count: 2, sum: 1, squares: 1 } };
  const second = { done: 2, rewardSum: 1, rewardSquares: 1, examples: { count: 1, sum: 0.5, squares: 0.25 } };
  const error = meanOf([1, 0, 0.5])?.standardError ?? NaN;

  const interval = await intervalOf(2, first, second);

  expect(interval?.[0]).toBeCloseTo(Math.max(0, 0.5 - Z_95 * error), 12);
  expect(interval?.[1]).toBeCloseTo(Math.min(1, 0.5 + Z_95 * error), 12);
});

test('has a score and an interval of the same means, however many samples of each are done', async () => {
  // Means 1/3, 1 and 1 of three, two and one samples.
  const examples = { count: 3, sum: 7 / 3, squares: 19 / 9 };
  await intervalOf(3, { done: 6, rewardSum: 4, rewardSquares: 4, examples });

  const progress = await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' });

  expect(progress?.score).toBeCloseTo(7 / 9, 12);
  const error = meanOf([1 / 3, 1, 1])?.standardError ?? NaN;
  expect(progress?.interval?.[0]).toBeCloseTo(7 / 9 - Z_95 * error, 12);
});

test('is that of the result where all examples have the same mean, whatever rounding leaves of it', async () => {
  const third = 1 / 3;
  let examples = { count: 0, sum: 0, squares: 0 };
  for (let count = 1; count <= 10; count++) {
    examples = { count, sum: examples.sum + third, squares: examples.squares + third * third };
  }

  const interval = await intervalOf(3, { done: 30, rewardSum: 10, rewardSquares: 10, examples });

  expect(interval?.[0]).toBeCloseTo(wilsonInterval(10 / 3, 10)?.[0] ?? NaN, 9);
});

test('says nothing of several samples where a worker of another version counted no examples', async () => {
  expect(await intervalOf(2, { done: 4, rewardSum: 2, rewardSquares: 2 })).toBeNull();
});

test('is that of the result where none is right in several samples', async () => {
  const none = { done: 16, rewardSum: 0, rewardSquares: 0, examples: { count: 8, sum: 0, squares: 0 } };

  expect(await intervalOf(2, none)).toEqual(wilsonInterval(0, 8));
});

test('is of what could be read, as that of the result is', async () => {
  const counts = { done: 10, completedCount: 10, unreadCount: 1, rewardSum: 1, rewardSquares: 1 };

  expect(await intervalOf(1, counts)).toEqual(wilsonInterval(1, 9));
  expect(await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' })).toMatchObject({
    score: 1 / 9,
    unreadCount: 1,
  });
});

test.each([{ numSamples: 1 }, { numSamples: 2, examples: { count: 2, sum: 0, squares: 0 } }])(
  'has no score of cut answers alone where no verdict could be read: %p',
  async ({ numSamples, ...rest }) => {
    const counts = { done: 10, completedCount: 6, truncatedCount: 4, unreadCount: 6, ...rest };

    expect(await intervalOf(numSamples, counts)).toBeNull();
    expect(await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' })).toMatchObject({
      done: 10,
      score: null,
    });
  },
);

async function progressOfInspect(counts: Partial<ShardCounts>, isComplete: boolean) {
  const journal = join(folder, 'inspect_sums', 'journal');
  mkdirSync(join(journal, 'shard-0'), { recursive: true });
  const request = { inspectTask: { task: 'x/sums', args: {} } };
  writeFileSync(
    join(journal, 'plan.json'),
    JSON.stringify({ request, shards: [{}], exampleCount: 0, numSamples: 1 }),
  );
  writeFileSync(
    join(journal, 'shard-0', 'progress.json'),
    JSON.stringify({ ...NO_COUNTS, ...counts, isComplete }),
  );
  return readBenchmarkProgress({ run: 'x', folder, benchmark: 'inspect_sums' });
}

test('a task of Inspect has the samples that Inspect counted, and no score before its end', async () => {
  const underWay = await progressOfInspect({ done: 5, total: 20 }, false);
  const ended = await progressOfInspect({ done: 20, total: 20, rewardSum: 5, rewardSquares: 5 }, true);

  expect(underWay).toMatchObject({ done: 5, total: 20, score: null, interval: null });
  expect(ended).toMatchObject({ done: 20, total: 20, score: 0.25 });
});

test('of shards that a plan says and nobody began nothing is read, however many they are', async () => {
  const journal = join(folder, 'gsm8k', 'journal');
  mkdirSync(journal, { recursive: true });
  const plan = { shards: Array.from({ length: 600_000 }, () => ({})), exampleCount: 10, numSamples: 1 };
  writeFileSync(join(journal, 'plan.json'), JSON.stringify(plan));

  expect(await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' })).toMatchObject({
    done: 0,
    total: 10,
  });
});

test.each([
  { truncatedCount: { toString: 1 } },
  { total: 'x' },
  { unreadCount: [] },
  { examples: 5 },
  { examples: { count: 1, sum: {}, squares: 1 } },
])('a shard that says %j is as one that was not begun', async (wrong) => {
  const journal = join(folder, 'gsm8k', 'journal');
  mkdirSync(join(journal, 'shard-0'), { recursive: true });
  mkdirSync(join(journal, 'shard-1'), { recursive: true });
  const counts = { ...NO_COUNTS, done: 3, rewardSum: 1, rewardSquares: 1 };
  writeFileSync(
    join(journal, 'plan.json'),
    JSON.stringify({ shards: [{}, {}], exampleCount: 10, numSamples: 1 }),
  );
  writeFileSync(join(journal, 'shard-0', 'progress.json'), JSON.stringify(counts));
  writeFileSync(join(journal, 'shard-1', 'progress.json'), JSON.stringify({ ...counts, ...wrong }));

  expect(await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' })).toMatchObject({
    done: 3,
    truncatedCount: 0,
  });
});

test.each([{ request: { maxExamples: {} } }, { numSamples: Number.MAX_SAFE_INTEGER }])(
  'a plan with %j is none',
  async (wrong) => {
    const journal = join(folder, 'gsm8k', 'journal');
    mkdirSync(journal, { recursive: true });
    const plan = { shards: [{}], exampleCount: 10, numSamples: 1, ...wrong };
    writeFileSync(join(journal, 'plan.json'), JSON.stringify(plan));

    expect(await readBenchmarkProgress({ run: 'x', folder, benchmark: 'gsm8k' })).toBeNull();
  },
);
