import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareMany, compareResults } from '../../../../src/evaluation/compare/compare-results';
import type { DetailedComparison } from '../../../../src/evaluation/compare/comparison';
import type { StoredBenchmark } from './stored-results';
import type { Row } from './stored-results';
import { rowsOf, storeBenchmark } from './stored-results';

let folder: string;
let a: string;
let b: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-compare-'));
  a = join(folder, 'a');
  b = join(folder, 'b');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function store(first: StoredBenchmark, second: StoredBenchmark, benchmark = 'gsm8k'): void {
  storeBenchmark(a, benchmark, first);
  storeBenchmark(b, benchmark, second);
}

/** Rewards of two systems with these numbers of examples that both, only one, or none gets right. */
function outcomes(counts: { both: number; onlyA: number; onlyB: number; neither: number }) {
  const { both, onlyA, onlyB, neither } = counts;
  const repeat = (count: number, value: number) => new Array<number>(count).fill(value);
  return {
    a: [...repeat(both + onlyA, 1), ...repeat(onlyB + neither, 0)],
    b: [...repeat(both, 1), ...repeat(onlyA, 0), ...repeat(onlyB, 1), ...repeat(neither, 0)],
  };
}

async function compareOnly(options: Parameters<typeof compareResults>[2] = {}): Promise<DetailedComparison> {
  const [comparison] = (await compareResults(a, b, options)).comparisons;
  if (!comparison) throw new Error('nothing was compared');
  return comparison;
}

test('no interval of two accuracies reaches beyond their difference at most', async () => {
  const rewards = outcomes({ both: 1, onlyA: 24, onlyB: 0, neither: 0 });
  store({ rows: rowsOf(rewards.a) }, { rows: rowsOf(rewards.b) });

  const { interval, difference, standardError } = await compareOnly();

  expect(difference + 1.96 * (standardError ?? NaN)).toBeGreaterThan(1);
  expect(interval?.[1]).toBe(1);
  expect(interval?.[0]).toBeCloseTo(difference - 1.959964 * (standardError ?? NaN), 6);
});

test('gives the known numbers of two published sets of GSM8K solutions', async () => {
  const rewards = outcomes({ both: 306, onlyA: 209, onlyB: 152, neither: 652 });
  store({ rows: rowsOf(rewards.a) }, { rows: rowsOf(rewards.b) });

  const comparison = await compareOnly();

  expect(comparison).toMatchObject({ a, b, benchmark: 'gsm8k', n: 1319, wins: 209, losses: 152, ties: 958 });
  expect(comparison.scoreA).toBeCloseTo(0.390447, 6);
  expect(comparison.scoreB).toBeCloseTo(0.347233, 6);
  expect(comparison.difference).toBeCloseTo(0.043215, 6);
  expect(comparison.standardError).toBeCloseTo(0.014361068, 9);
  expect(comparison.z).toBeCloseTo(3.0091, 4);
  expect(comparison.pValue).toBeCloseTo(0.0026198, 7);
  expect(comparison.pAdjusted).toBe(comparison.pValue);
  expect(comparison.pDecision).toBe(Math.max(comparison.pValue, comparison.mcnemar?.pValue ?? NaN));
  expect(comparison.mcnemar).toMatchObject({ onlyA: 209, onlyB: 152 });
  expect(comparison.mcnemar?.pValue).toBeCloseTo(0.00315066, 8);
  expect(comparison.interval?.[0]).toBeCloseTo(0.015067, 6);
  expect(comparison.verdict).toBe(`${a} is better: by 0.0432 [0.0151, 0.0714], p 0.0032`);
});

test('pairs by the id of the example, whatever the order of the file', async () => {
  const rows = rowsOf([1, 0, 1, 0, 1]);
  store({ rows }, { rows: [...rows].reverse() });

  expect(await compareOnly()).toMatchObject({
    difference: 0,
    ties: 5,
    z: null,
    pValue: 1,
    flipped: [],
    verdict: 'no example was scored differently',
  });
});

test('turns the sign with the order of the two', async () => {
  const rewards = outcomes({ both: 50, onlyA: 5, onlyB: 40, neither: 5 });
  store({ rows: rowsOf(rewards.a) }, { rows: rowsOf(rewards.b) });

  const forwards = await compareOnly();
  const backwards = (await compareResults(b, a)).comparisons[0];

  expect(forwards.difference).toBeCloseTo(-0.35, 12);
  expect(forwards.verdict).toContain(`${b} is better: by 0.35 [0.2`);
  expect(backwards?.difference).toBeCloseTo(0.35, 12);
  expect(backwards).toMatchObject({ wins: 40, losses: 5, mcnemar: { onlyA: 40, onlyB: 5 } });
  expect(backwards?.verdict).toBe(forwards.verdict);
});

test('says of a measure that falls as a model gets better that the lower one is better', async () => {
  const lower = rowsOf([4, 5, 6, 7, 5, 6, 4, 5, 6, 7]);
  const higher = rowsOf([8, 9, 9, 11, 10, 9, 8, 9, 10, 11]);
  const result = { higher_is_better: false };
  store({ rows: lower, result }, { rows: higher, result }, 'wikitext_ppl');

  const comparison = await compareOnly();

  expect(comparison).toMatchObject({ wins: 10, losses: 0 });
  expect(comparison.difference).toBeLessThan(0);
  expect(comparison.verdict).toContain(`${a} is better`);
});

test('averages the samples of an example before it compares', async () => {
  const row = (example_id: string, sample_index: number, reward: number) => ({
    example_id,
    sample_index,
    reward,
  });
  store(
    { rows: [row('x', 0, 1), row('x', 1, 0), row('y', 0, 1), row('y', 1, 1)] },
    { rows: [row('x', 0, 0), row('y', 0, 1), row('x', 1, 0), row('y', 1, 0)] },
  );

  // By hand: x 0.5 against 0, y 1 against 0.5.
  expect(await compareOnly()).toMatchObject({
    n: 2,
    scoreA: 0.75,
    scoreB: 0.25,
    difference: 0.5,
    mcnemar: null,
  });
});

test('does not let z alone decide on a handful of examples', async () => {
  const rewards = outcomes({ both: 0, onlyA: 5, onlyB: 0, neither: 5 });
  store({ rows: rowsOf(rewards.a) }, { rows: rowsOf(rewards.b) });

  const comparison = await compareOnly();

  expect(comparison.pValue).toBeLessThan(0.01);
  expect(comparison.mcnemar?.pValue).toBeCloseTo(0.0625, 12);
  expect(comparison.verdict).toMatch(
    /^no difference can be told \(z says p 0\.0027, the exact McNemar test 0\.063\)/,
  );
});

test('uses the sign test where every difference is the same, and there is no spread to divide by', async () => {
  store({ rows: rowsOf(new Array<number>(8).fill(0.6)) }, { rows: rowsOf(new Array<number>(8).fill(0.3)) });

  const comparison = await compareOnly();

  expect(comparison).toMatchObject({ z: null, wins: 8, mcnemar: null });
  expect(comparison.pValue).toBeCloseTo(2 / 2 ** 8, 12);
  // No range: it would have no width.
  expect(comparison.verdict).toMatch(/is better: by 0\.3\d*, p/);
});

test('says what the suite could have shown where no difference can be told', async () => {
  const rewards = outcomes({ both: 40, onlyA: 11, onlyB: 9, neither: 40 });
  store({ rows: rowsOf(rewards.a) }, { rows: rowsOf(rewards.b) });

  const { verdict, standardError } = await compareOnly();

  const detectable = 2.8015852 * (standardError ?? NaN);
  expect(verdict).toBe(
    `no difference can be told; 100 examples could have shown one of ${Number(detectable.toFixed(4))}`,
  );
});

test('says so of differences far below four places', async () => {
  const differences = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? 1e-5 : -0.9e-5));
  store(
    { rows: rowsOf(differences.map((each) => 0.5 + each)) },
    { rows: rowsOf(differences.map(() => 0.5)) },
  );

  const { verdict, standardError } = await compareOnly();

  const detectable = 2.8015852 * (standardError ?? NaN);
  expect(detectable).toBeLessThan(1e-5);
  expect(verdict).toBe(
    `no difference can be told; 100 examples could have shown one of ${Number(detectable.toPrecision(2))}`,
  );
});

test('says that one example is too few', async () => {
  store({ rows: rowsOf([1]) }, { rows: rowsOf([0]) });

  expect(await compareOnly()).toMatchObject({
    standardError: null,
    interval: null,
    pValue: 1,
    verdict: 'no difference can be told: 1 example is too few',
  });
});

test('corrects over the benchmarks of the suite', async () => {
  const clear = outcomes({ both: 10, onlyA: 30, onlyB: 10, neither: 10 });
  const faint = outcomes({ both: 10, onlyA: 21, onlyB: 10, neither: 10 });
  store({ rows: rowsOf(clear.a) }, { rows: rowsOf(clear.b) }, 'clear');
  store({ rows: rowsOf(faint.a) }, { rows: rowsOf(faint.b) }, 'faint');

  const holm = (await compareResults(a, b)).comparisons;
  const none = (await compareResults(a, b, { correction: 'none' })).comparisons;
  const bh = (await compareResults(a, b, { correction: 'bh' })).comparisons;

  const [first, second] = none.map(({ pValue }) => pValue);
  expect(none.map(({ pAdjusted }) => pAdjusted)).toEqual([first, second]);
  expect(holm.map(({ pAdjusted }) => pAdjusted)).toEqual([2 * (first ?? NaN), second]);
  expect(bh.map(({ pAdjusted }) => pAdjusted)).toEqual([2 * (first ?? NaN), second]);
});

test('says where the last results of a run are of an earlier step than it was evaluated at', async () => {
  const evals = (run: string, step: number) => join(folder, 'runs', run, 'evals', String(step));
  for (const place of [evals('one', 50), evals('other', 0)]) {
    storeBenchmark(place, 'gsm8k', { rows: rowsOf([1, 0, 1]) });
  }
  for (const step of [25, 50]) mkdirSync(join(evals('other', step), 'gsm8k', 'journal'), { recursive: true });

  const { warnings } = await compareResults('one', 'other', { store: folder });

  expect(warnings.filter((warning) => warning.includes('is compared at step'))).toEqual([
    'other is compared at step 0, the last with a result: its evaluations of steps 25 to 50 have none (`everstep runs scores other` says why).',
  ]);
});

test('compares the first with each other, or all pairs', async () => {
  const c = join(folder, 'c');
  for (const [place, rewards] of [
    [a, [1, 1, 0, 0]],
    [b, [1, 0, 0, 0]],
    [c, [1, 1, 1, 0]],
  ] as const) {
    storeBenchmark(place, 'gsm8k', { rows: rowsOf(rewards) });
  }
  const pairs = async (allPairs: boolean) =>
    (await compareMany([a, b, c], { allPairs })).comparisons.map((one) => [one.a, one.b]);

  expect(await pairs(false)).toEqual([
    [a, b],
    [a, c],
  ]);
  expect(await pairs(true)).toEqual([
    [a, b],
    [a, c],
    [b, c],
  ]);
});

test('lists the examples that flipped, the largest differences first', async () => {
  store({ rows: rowsOf([0.1, 1, 0.5, 0]) }, { rows: rowsOf([0.2, 1, 0, 1]) });

  const { flipped } = await compareOnly();

  expect(flipped.map(({ exampleId }) => exampleId)).toEqual(['e3', 'e2', 'e0']);
  expect(flipped[1]).toEqual({ exampleId: 'e2', scoreA: 0.5, scoreB: 0 });
});

test('counts errors 0 and says so, or leaves them out on both sides', async () => {
  const failed = { reward: 0, error: 'timeout (300s)' };
  const cut = { reward: 0, metrics: { max_tokens_reached: 1 } };
  store(
    {
      rows: [
        { example_id: 'e0', ...failed },
        { example_id: 'e1', reward: 1 },
        { example_id: 'e2', reward: 1 },
      ],
    },
    {
      rows: [
        { example_id: 'e0', reward: 1 },
        { example_id: 'e1', ...cut },
        { example_id: 'e2', reward: 0 },
      ],
    },
  );

  const counted = await compareResults(a, b);
  const completed = await compareResults(a, b, { completedOnly: true });

  expect(counted.comparisons[0]).toMatchObject({ n: 3, wins: 2, losses: 1 });
  expect(counted.warnings).toEqual([
    `gsm8k: examples of ${a} without a whole answer: 1 failed (such samples count 0; --completed-only leaves them out on both sides).`,
    `gsm8k: examples of ${b} without a whole answer: 1 cut at the token limit (such samples count 0; --completed-only leaves them out on both sides).`,
  ]);
  expect(completed.comparisons[0]).toMatchObject({ n: 1, wins: 1, losses: 0, scoreA: 1, scoreB: 0 });
  expect(completed.warnings[0]).toContain('1 examples completed on both sides; 1 of');
});

test('counts an example once for what its samples lack, and samples without a verdict nowhere', async () => {
  const lacking = [
    { reward: 0, error: 'lost' },
    { reward: 0, metrics: { max_tokens_reached: 1 } },
    { reward: 0, metrics: { unparsed: 1 } },
  ];
  const rows = [
    ...lacking.map((row) => ({ example_id: 'e0', ...row })),
    ...lacking.map((row, index) => ({ example_id: `e${index + 1}`, ...row })),
    { example_id: 'e3', reward: 1 },
    { example_id: 'e4', reward: 0, metrics: { unparsed: 1 } },
  ];
  store({ rows: rowsOf([1, 1, 1, 1, 1]) }, { rows });

  const { comparisons, warnings } = await compareResults(a, b);

  expect(comparisons[0]).toMatchObject({ n: 4, scoreA: 1, scoreB: 0.25 });
  expect(warnings).toEqual([
    `gsm8k: ${b} has 4 of ${a}'s 5 examples; compared on those.`,
    `gsm8k: examples of ${b} without a whole answer: 2 failed, 1 cut at the token limit (such samples count 0; --completed-only leaves them out on both sides).`,
    `gsm8k: examples of ${b} without a readable verdict: 1 (they are left out).`,
    `gsm8k: examples of ${b} with samples that have no readable verdict: 2 (their other samples are what they score).`,
  ]);
});

test('names each part of the identities that differs, with both values', async () => {
  const rows = rowsOf([1, 0]);
  store(
    { rows, identity: { model: 'x', checkpoint: 'one' } },
    {
      rows,
      identity: {
        ...{ benchmarkVersion: 2, promptHash: 'prompt-2', graderVersion: 'exactMatch@2', dataHash: 'data-2' },
        ...{ sampling: { maxTokens: 8, topP: 0.9 }, model: 'y', checkpoint: 'two' },
      },
    },
  );

  const { warnings } = await compareResults(a, b);

  const parts = warnings.map((warning) => warning.replace('. The difference may come from it.', ''));
  expect(parts).toEqual([
    `gsm8k: benchmarkVersion differs: ${a} 1, ${b} 2`,
    `gsm8k: dataHash differs: ${a} "data-1", ${b} "data-2"`,
    `gsm8k: promptHash differs: ${a} "prompt-1", ${b} "prompt-2"`,
    `gsm8k: graderVersion differs: ${a} "exactMatch@1", ${b} "exactMatch@2"`,
    `gsm8k: sampling.temperature differs: ${a} 0, ${b} not given`,
    `gsm8k: sampling.topP differs: ${a} not given, ${b} 0.9`,
  ]);
});

test('takes results of other tools, and says that nothing of their making is known', async () => {
  const rows = rowsOf([1, 0, 1]);
  store({ rows }, { rows });
  const cookbook = {
    name: 'gsm8k',
    score: 2 / 3,
    num_examples: 3,
    num_correct: 2,
    num_errors: 0,
    num_truncated: 0,
  };
  writeFileSync(join(b, 'gsm8k', 'result.json'), JSON.stringify(cookbook));

  const { comparisons, warnings } = await compareResults(a, b);

  expect(comparisons[0]).toMatchObject({ n: 3, difference: 0 });
  expect(warnings).toEqual([
    `gsm8k: ${b} does not say how it was made (no identity), so nothing could be checked.`,
  ]);
});

test('compares the examples that are shared, and says how many are not', async () => {
  store({ rows: rowsOf([1, 0, 1, 1]) }, { rows: [...rowsOf([1, 1]), { example_id: 'other', reward: 1 }] });

  const { comparisons, warnings } = await compareResults(a, b);

  expect(comparisons[0]).toMatchObject({ n: 2, scoreA: 0.5, scoreB: 1 });
  expect(warnings[0]).toContain(`2 examples are shared; 2 of ${a} alone and 1 of ${b} alone are left out`);
});

test('refuses the same benchmark on other examples', async () => {
  store(
    { rows: rowsOf([1, 0]) },
    { rows: [{ example_id: 'other', reward: 1 }], identity: { dataHash: 'data-2' } },
  );

  await expect(compareResults(a, b)).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringMatching(/share no example .*data-1.*data-2/) as string,
  });
});

test('refuses a file that holds fewer trajectories than its result was made of', async () => {
  store({ rows: rowsOf([1, 0, 1]) }, { rows: rowsOf([1, 0, 1]) });
  const file = join(b, 'gsm8k', 'trajectories.jsonl');
  truncateSync(file, readFileSync(file).length - 10);

  await expect(compareResults(a, b)).rejects.toMatchObject({
    code: 'bad-dataset',
    message: expect.stringContaining('has 2 readable trajectories, and its result.json counts 3') as string,
  });
});

test('passes over what is no trajectory, and counts it', async () => {
  store({ rows: rowsOf([1, 0, 1]) }, { rows: rowsOf([1, 0, 1]) });
  appendFileSync(
    join(b, 'gsm8k', 'trajectories.jsonl'),
    '{"example_id": "e7", "reward": NaN}\n{"idx": 9}\n{"idx',
  );

  const { comparisons, warnings } = await compareResults(a, b);

  expect(comparisons[0]?.n).toBe(3);
  expect(warnings).toEqual([`gsm8k: unreadable lines in trajectories.jsonl of ${b}: 3 (passed over).`]);
});

test.each([
  ['', /has no trajectories/],
  [null, /has no trajectories/],
])('refuses a result without trajectories', async (content, message) => {
  store({ rows: rowsOf([1]) }, { rows: rowsOf([1]) });
  const file = join(b, 'gsm8k', 'trajectories.jsonl');
  if (content === null) rmSync(file);
  else writeFileSync(file, content);

  await expect(compareResults(a, b)).rejects.toThrow(message);
});

test('refuses a result that cannot be read', async () => {
  store({ rows: rowsOf([1]) }, { rows: rowsOf([1]) });
  writeFileSync(join(a, 'gsm8k', 'result.json'), '{"name": "gsm8k", "sco');

  await expect(compareResults(a, b)).rejects.toThrow(/result\.json cannot be read/);
});

test('says which benchmarks only one side has, and which are not finished', async () => {
  store({ rows: rowsOf([1]) }, { rows: rowsOf([1]) });
  storeBenchmark(a, 'mbpp', { rows: rowsOf([1]) });
  mkdirSync(join(b, 'ifeval', 'journal'), { recursive: true });

  expect((await compareResults(a, b)).warnings).toEqual([
    `${a} has mbpp, which ${b} has not: not compared.`,
    `${b} has not finished ifeval (no result.json): not compared.`,
  ]);
});

test('refuses where no benchmark is shared, or one that was asked for is not', async () => {
  storeBenchmark(a, 'mbpp', { rows: rowsOf([1]) });
  storeBenchmark(b, 'gsm8k', { rows: rowsOf([1]) });

  await expect(compareResults(a, b)).rejects.toThrow(
    /no finished benchmark or loss in common.*a has mbpp; .*b has gsm8k/,
  );
  storeBenchmark(b, 'mbpp', { rows: rowsOf([1]) });
  await expect(compareResults(a, b, { benchmarks: ['mbpp', 'gsm8k'] })).rejects.toThrow(
    /have not gsm8k on both/,
  );
});

test('compares two folders of single benchmarks, whatever they are called', async () => {
  storeBenchmark(a, 'gsm8k', { rows: rowsOf([1, 1]) });
  storeBenchmark(b, 'gsm8k_greedy', { rows: rowsOf([1, 0]) });

  const { comparisons } = await compareResults(join(a, 'gsm8k'), join(b, 'gsm8k_greedy'));

  expect(comparisons).toHaveLength(1);
  expect(comparisons[0]).toMatchObject({ benchmark: 'gsm8k', difference: 0.5 });
});

test('needs two', async () => {
  await expect(compareMany([a])).rejects.toMatchObject({ code: 'bad-config' });
});

test('says how many examples one side has where the other was asked more, and warns of no other data', async () => {
  store({ rows: rowsOf([1, 0]) }, { rows: rowsOf([1, 1, 0, 0]), identity: { dataHash: 'data-2' } });

  const { comparisons, warnings } = await compareResults(a, b);

  expect(comparisons[0]).toMatchObject({ n: 2 });
  expect(warnings).toEqual([`gsm8k: ${a} has 2 of ${b}'s 4 examples; compared on those.`]);
});

test('counts examples that hang together as one cluster', async () => {
  // In each of five texts B answers all four questions that A fails, or the other way round.
  const wins = [1, 1, 1, 1, 0];
  const rows = (of: (win: number) => number) =>
    wins.flatMap((win, text) =>
      [0, 1, 2, 3].map((question) => ({
        ...{ example_id: `t${text}-q${question}`, reward: of(win) },
        logs: { cluster: `text ${text}` },
      })),
    );
  const alone = (all: readonly Row[]) => all.map((row) => ({ ...row, logs: {} }));
  const [mine, others] = [rows((win) => win), rows((win) => 1 - win)];
  store({ rows: alone(mine) }, { rows: alone(others) });
  const apart = (await compareResults(a, b)).comparisons[0];
  store({ rows: mine }, { rows: others });

  const clustered = (await compareResults(a, b)).comparisons[0];

  // Differences +1, +1, +1, +1, −1 of equal weight: sd over the five texts ÷ √5.
  expect(clustered).toMatchObject({ n: 20, difference: 0.6, clusterCount: 5 });
  expect(clustered?.standardError).toBeCloseTo(0.4, 12);
  expect(apart?.clusterCount).toBeUndefined();
  expect(apart?.standardError).toBeCloseTo(0.1835, 4);
  expect(apart?.verdict).toContain('is better');
  expect(clustered?.verdict).toContain('no difference can be told');
});
