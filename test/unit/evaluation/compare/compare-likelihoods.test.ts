import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EvaluatorConfig } from '../../../../src/config/evaluation-config';
import type { RatioPart } from '../../../../src/core/statistics/mean';
import type { Sampler } from '../../../../src/core/sampling';
import { createRandom } from '../../../../src/core/random';
import { compareMany } from '../../../../src/evaluation/compare/compare-results';
import { compareRatios } from '../../../../src/evaluation/compare/compare-scores';
import type { EvaluationDependencies } from '../../../../src/evaluation/evaluators/evaluation-context';
import { evaluateCell } from '../../../../src/evaluation/evaluate-cell';
import { dependenciesOf, workOf } from '../measured-model';

let store: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-compare-nll-'));
});

afterEach(() => {
  rmSync(store, { recursive: true, force: true });
});

const ROWS = Array.from({ length: 12 }, (_, index) => ({
  id: `row-${index}`,
  messages: [
    { role: 'user' as const, content: 'hi' },
    { role: 'assistant' as const, content: `${'abcdefghijkl'.charAt(index)}${'x'.repeat(index % 3)}` },
  ],
}));

/** Gives every token a log-probability by how long the prompt is, so that examples differ. */
function modelThatLoses(nats: number): Sampler {
  return {
    async sample({ prompt }) {
      const promptLogprobs = prompt.map((_, index) =>
        index === 0 ? null : -nats - (prompt.length % 3) / 50,
      );
      return { sequences: [{ tokens: [0], logprobs: null, stopReason: 'length' }], promptLogprobs };
    },
  };
}

interface Measured {
  readonly run: string;
  readonly step: number;
  readonly nats: number;
  readonly rows?: typeof ROWS;
  readonly model?: string;
  readonly options?: Partial<EvaluationDependencies>;
}

/** What a training run's own `test` evaluator leaves at a step. */
async function measure({ run, step, nats, rows = ROWS, model = 'everstep/tiny', options }: Measured) {
  const folder = join(store, 'runs', run, 'evals', String(step), 'test');
  const evaluator = EvaluatorConfig.parse({ type: 'nll', name: 'test', dataset: { path: 'rows.jsonl' } });
  const dependencies = dependenciesOf(modelThatLoses(nats), { rows, ...options });
  const work = workOf({ name: 'test', folder, model: { name: model, path: `tinker://${run}/${step}` } });
  return evaluateCell(dependencies, { ...work, evaluator });
}

test('pairs the losses of two steps by example, and says which is better and why', async () => {
  await measure({ run: 'sft', step: 0, nats: 3 });
  const [after] = await measure({ run: 'sft', step: 20, nats: 1 });

  const { comparisons, warnings } = await compareMany(['sft@0', 'sft'], { store });

  expect(warnings).toEqual([]);
  expect(comparisons).toHaveLength(1);
  expect(comparisons[0]).toMatchObject({
    benchmark: 'test/nll',
    higherIsBetter: false,
    n: 12,
    scoreB: expect.closeTo(after?.value ?? NaN, 9) as number,
    difference: expect.closeTo(2, 5) as number,
    wins: 0,
    losses: 12,
    mcnemar: null,
  });
  expect(comparisons[0]?.verdict).toMatch(/^sft is better: by 2 .*; lower is better$/);
});

test('compares two runs beside their benchmarks, and takes the folder of one loss', async () => {
  await measure({ run: 'one', step: 20, nats: 1 });
  await measure({ run: 'two', step: 10, nats: 1 });

  const named = await compareMany(['one', 'two'], { store, benchmarks: ['test'] });
  const folders = await compareMany(
    ['one/evals/20', 'two/evals/10'].map((folder) => join(store, 'runs', folder, 'test')),
  );

  expect(named.comparisons).toMatchObject([{ difference: 0, ties: 12, benchmark: 'test/nll' }]);
  expect(named.comparisons[0]?.verdict).toBe('no example was scored differently; lower is better');
  expect(folders.comparisons).toMatchObject([{ difference: 0, ties: 12 }]);
});

test('pairs what both have, and says what only one has', async () => {
  await measure({ run: 'one', step: 0, nats: 2 });
  await measure({ run: 'two', step: 0, nats: 1, rows: ROWS.slice(3) });

  const { comparisons, warnings } = await compareMany(['one', 'two'], { store });

  expect(comparisons).toMatchObject([{ n: 9, losses: 9 }]);
  expect(warnings).toEqual([
    'test/nll: one and two were not measured by the same evaluator on the same rows.',
    'test/nll: 9 examples are shared; 3 of one alone and 0 of two alone are left out.',
  ]);
});

test('compares other base models in bits per byte, and says that other parts of the texts were counted', async () => {
  await measure({ run: 'one', step: 0, nats: 2 });
  await measure({ run: 'two', step: 0, nats: 1, model: 'other/model' });
  const short = { supervision: { trainOnWhat: 'allTokens', lossReduction: 'none' } } as const;
  await measure({ run: 'three', step: 0, nats: 1, options: short });

  const other = await compareMany(['one', 'two'], { store });
  const counted = await compareMany(['one', 'three'], { store });

  expect(other.comparisons).toMatchObject([{ benchmark: 'test/bpb', n: 12, higherIsBetter: false }]);
  expect(other.warnings).toEqual([expect.stringContaining('one is of everstep/tiny, two of other/model')]);
  expect(counted.warnings).toEqual([expect.stringContaining('count other parts of the examples')]);
});

test('refuses losses without a shared example, and says what to add where nothing is shared', async () => {
  await measure({ run: 'one', step: 0, nats: 2, rows: ROWS.slice(0, 3) });
  await measure({ run: 'two', step: 0, nats: 1, rows: ROWS.slice(3) });

  await expect(compareMany(['one', 'two'], { store })).rejects.toThrow(
    /test\/nll: one and two share no example \(3 and 9 measured\)/,
  );
  await expect(compareMany(['one', 'two'], { store, benchmarks: ['gsm8k'] })).rejects.toThrow(
    /have not gsm8k on both sides\. .*one.*has test \(loss\).*everstep eval gsm8k --checkpoint one@0.*everstep runs compare one two/,
  );
});

test('refuses a loss whose examples are gone, by the file', async () => {
  await measure({ run: 'one', step: 0, nats: 2 });
  await measure({ run: 'two', step: 0, nats: 1 });
  const file = join(store, 'runs', 'two', 'evals', '0', 'test', 'journal', 'likelihoods.jsonl');
  rmSync(file);
  writeFileSync(file, '');

  await expect(compareMany(['one', 'two'], { store })).rejects.toThrow(
    `${file} has no example of the loss "test"`,
  );
});

test('says where the stored examples are not those of the score', async () => {
  await measure({ run: 'one', step: 0, nats: 2, rows: [...ROWS, ...ROWS.slice(0, 1)] });
  await measure({ run: 'two', step: 0, nats: 1 });

  const { warnings } = await compareMany(['one', 'two'], { store });

  expect(warnings.at(-1)).toMatch(/the examples stored for one give .* counts once here/);
});

describe('ratios', () => {
  const random = createRandom(7);
  const sides = Array.from({ length: 200 }, (_, index) => {
    const weight = 1 + Math.floor(random() * 40);
    const ease = random();
    const part = (loss: number): RatioPart => ({
      numerator: weight * (loss + ease + random() / 5),
      denominator: weight,
    });
    return [`e${index}`, part(1), part(1.1)] as const;
  });
  const ratio = (parts: readonly RatioPart[]) =>
    parts.reduce((sum, { numerator }) => sum + numerator, 0) /
    parts.reduce((sum, { denominator }) => sum + denominator, 0);
  const differenceOf = (rows: typeof sides) =>
    ratio(rows.map(([, a]) => a)) - ratio(rows.map(([, , b]) => b));

  test('differ by what the sums say, with the standard error that leaving one out gives', () => {
    const comparison = compareRatios(
      new Map(sides.map(([id, a]) => [id, a])),
      new Map(sides.map(([id, , b]) => [id, b])),
    );

    const left = sides.map((_, index) => differenceOf(sides.filter((__, other) => other !== index)));
    const mean = left.reduce((sum, value) => sum + value, 0) / left.length;
    const jackknife = Math.sqrt(
      ((left.length - 1) / left.length) * left.reduce((sum, value) => sum + (value - mean) ** 2, 0),
    );
    expect(comparison?.difference).toBeCloseTo(differenceOf(sides), 12);
    expect((comparison?.standardError ?? 0) / jackknife).toBeCloseTo(1, 1);
    expect(comparison).toMatchObject({ n: 200, mcnemar: null, higherIsBetter: false });
  });

  test('of examples that weigh the same are the difference of means', () => {
    const parts = (values: readonly number[]) =>
      new Map(values.map((value, index) => [`e${index}`, { numerator: value * 2, denominator: 2 }]));

    const comparison = compareRatios(parts([1, 2, 4]), parts([2, 2, 3]));

    // Differences −1, 0, 1: their standard deviation is 1.
    expect(comparison).toMatchObject({
      difference: expect.closeTo(0, 12) as number,
      standardError: expect.closeTo(1 / Math.sqrt(3), 12) as number,
      ...{ wins: 1, losses: 1, ties: 1 },
    });
  });

  test('without an example that counts are not compared', () => {
    expect(compareRatios(new Map([['a', { numerator: 0, denominator: 0 }]]), new Map())).toBeNull();
  });
});
