import { isHeldOutPair } from '../../../src/core/held-out-pairs';
import { BENCHMARKS, findBenchmark } from '../../../src/evaluation/benchmarks';
import type { Benchmark } from '../../../src/evaluation/benchmarks/benchmark';
import { loadExamples } from '../../../src/evaluation/benchmarks/load-examples';
import { arithmetic } from '../../../src/evaluation/benchmarks/arithmetic';
import { makeExampleId } from '../../../src/evaluation/example';
import { exactMatch } from '../../../src/evaluation/graders/exact-match';
import { numericAnswer } from '../../../src/evaluation/graders/numeric-answer';
import { thrownBy } from '../stores/thrown-by';

function example(target: string | null) {
  return { id: 'x', messages: [], target };
}

test.each([
  ['95', '95', 1, '95'],
  ['37+58=95', '95', 1, '95'],
  ['The sum is 95.', '95', 1, '95'],
  ['I thought 94, but it is 95', '95', 1, '95'],
  ['It is 95, not 94', '95', 0, '94'],
  ['1,234', '1234', 1, '1234'],
  ['$1,234.50', '1234.5', 1, '1234.5'],
  ['007', '7', 1, '7'],
  ['+5', '5', 1, '5'],
  ['-5', '5', 0, '-5'],
  ['-0.0', '0', 1, '0'],
  ['3.14', '3.1', 0, '3.14'],
  ['60%', '60', 0, null],
  ['abc12', '12', 0, null],
  ['ninety-five', '95', 0, null],
  ['', '95', 0, null],
  ['.5', '0.5', 1, '0.5'],
  ['24/12', '12', 0, null],
  ['3-12', '12', 0, null],
  ['3 - 12', '12', 0, null],
  ['3−12', '12', 0, null],
  ['3 -12', '-12', 0, null],
  ['(2 + 1) * 4', '4', 0, null],
  ['3 - 12 = -9', '-9', 1, '-9'],
  ['12 - 24/2 is 0', '0', 1, '0'],
  ['- 12', '12', 1, '12'],
  ['12345678901234567890', '12345678901234567891', 0, '12345678901234567890'],
])('numericAnswer reads %j', async (completion, target, value, answer) => {
  await expect(numericAnswer().grade(completion, example(target))).resolves.toEqual({ value, answer });
});

test.each([
  [' 95\n', '95', 1, '95'],
  ['95.', '95', 0, '95.'],
  ['Paris', 'paris', 0, 'Paris'],
  ['  ', '95', 0, null],
])('exactMatch reads %j', (completion, target, value, answer) => {
  expect(exactMatch().grade(completion, example(target))).toEqual({ value, answer });
});

test('nothing is right without a target', async () => {
  await expect(numericAnswer().grade('95', example(null))).resolves.toEqual({ value: 0, answer: '95' });
  expect(exactMatch().grade('95', example(null))).toEqual({ value: 0, answer: '95' });
});

const examplesOf = async (benchmark: Benchmark) => (await loadExamples(benchmark, noRows)).examples;
const noRows = () => Promise.reject(new Error('no rows but those made by code'));

describe.each(
  BENCHMARKS.filter((benchmark) => 'rows' in benchmark.data).map(
    (benchmark) => [benchmark.name, benchmark] as const,
  ),
)('%s', (_name, benchmark) => {
  test('gives 1 to every target and 0 to an empty reply', async () => {
    for (const item of await examplesOf(benchmark)) {
      expect((await benchmark.grader.grade(item.target ?? '', item)).value).toBe(1);
      expect(await benchmark.grader.grade('', item)).toMatchObject({ value: 0, answer: null });
    }
  });

  test('has examples with ids of their own, always in the same order', async () => {
    const ids = (await examplesOf(benchmark)).map(({ id }) => id);

    expect(new Set(ids).size).toBe(ids.length);
    expect((await examplesOf(benchmark)).map(({ id }) => id)).toEqual(ids);
  });
});

test('arithmetic asks sums of two-digit pairs that are held out of training', async () => {
  const examples = await examplesOf(arithmetic);

  expect(examples.length).toBeGreaterThan(600);
  for (const { messages, target } of examples) {
    const content = messages[0]?.content;
    const [, a = '', b = ''] = /^(\d\d)\+(\d\d)=$/.exec(typeof content === 'string' ? content : '') ?? [];
    expect(isHeldOutPair(Number(a), Number(b))).toBe(true);
    expect(target).toBe(String(Number(a) + Number(b)));
  }
  const sums = new Set(examples.slice(0, 200).map(({ target }) => target));
  expect(sums.size).toBeGreaterThan(80);
});

test('holds back about a tenth of the pairs, the same way round or the other, and of no sum all', () => {
  const left = new Map<number, number>();
  let held = 0;
  for (let a = 0; a <= 99; a++) {
    for (let b = 0; b <= 99; b++) {
      expect(isHeldOutPair(a, b)).toBe(isHeldOutPair(b, a));
      if (isHeldOutPair(a, b)) held += 1;
      else left.set(a + b, (left.get(a + b) ?? 0) + 1);
    }
  }

  expect(held / 10_000).toBeGreaterThan(0.08);
  expect(held / 10_000).toBeLessThan(0.12);
  expect([...left.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 199 }, (_, sum) => sum));
});

test('accepts hyphens in names of benchmarks and names the known ones', () => {
  expect(findBenchmark('arithmetic')).toBe(arithmetic);
  expect(thrownBy(() => findBenchmark('gsm9k'))).toMatchObject({ code: 'unknown-benchmark' });
});

test('makes ids of the prefix and the MD5 of the text', () => {
  expect(makeExampleId('gsm8k', '')).toBe('gsm8k_d41d8cd98f00');
  expect(makeExampleId('x', 'abc')).toBe('x_900150983cd2');
});
