import { BENCHMARKS, findBenchmark } from '../../../../src/evaluation/benchmarks';
import type { Benchmark } from '../../../../src/evaluation/benchmarks/benchmark';
import { CATALOGUE_NAMES, JUDGED_NAMES } from '../../../../src/evaluation/benchmarks/catalogue-names';
import { loadExamples } from '../../../../src/evaluation/benchmarks/load-examples';
import { longbenchWith } from '../../../../src/evaluation/benchmarks/longbench';
import type { Example } from '../../../../src/evaluation/example';
import { makeExampleId } from '../../../../src/evaluation/example';
import type { Row } from '../../../../src/evaluation/graders/row-grader';
import { INVENTED_ROWS } from './invented-rows';

/** Read from a branch that the hub makes, or whose commits we have not seen, so that none can be named. */
const UNPINNED = /^(mmlu_redux|arena_hard|livecodebench|bfcl)/;

function exampleOf(benchmark: Benchmark, row: Row): Example {
  const example = benchmark.toExample(row, 0);
  if (!example) throw new Error('the row was left out');
  return example;
}

function promptOf({ messages }: Example): string {
  const content = messages[0]?.content;
  return typeof content === 'string' ? content : '';
}

async function scoreOf(benchmark: Benchmark, reply: string, example: Example): Promise<number> {
  return (await benchmark.grader.grade(reply, example)).value;
}

test('the list of names is that of the catalogue', () => {
  const judged = BENCHMARKS.filter(({ grader }) => grader.judging);

  expect([...CATALOGUE_NAMES]).toEqual(BENCHMARKS.map(({ name }) => name));
  expect([...JUDGED_NAMES]).toEqual(judged.map(({ name }) => name));
});

test('names are unique, with underscores', () => {
  const names = BENCHMARKS.map(({ name }) => name);

  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z0-9_]+$/.test(name))).toEqual([]);
});

describe.each(BENCHMARKS.map((benchmark) => [benchmark.name, benchmark] as const))(
  '%s',
  (name, benchmark) => {
    const { row, gold, wrong } = INVENTED_ROWS[name] ?? { row: {}, gold: '', wrong: '' };

    test('says what it asks and what its score may be compared with', () => {
      expect(benchmark.description.length).toBeGreaterThan(20);
      expect(benchmark.comparableWith.length).toBeGreaterThan(20);
      expect(benchmark.version).toBeGreaterThanOrEqual(1);
    });

    test('reads a fixed commit of its data', () => {
      if (!('hub' in benchmark.data)) return;

      const isCommit = /^[0-9a-f]{40}$/.test(benchmark.data.revision ?? '');

      expect(isCommit).toBe(!UNPINNED.test(name));
    });

    test('gives 1 to a right reply, 0 to a wrong and to an empty one', async () => {
      // Models judge it: see test/unit/evaluation/judges.
      if (benchmark.grader.judging) return;
      const example = exampleOf(benchmark, row);
      const right = gold.replace('{target}', example.target ?? '');

      expect(await scoreOf(benchmark, right, example)).toBe(1);
      expect(await scoreOf(benchmark, wrong, example)).toBe(0);
      expect(await scoreOf(benchmark, '', example)).toBe(0);
    });

    test('makes the same example of a row wherever it stands, in plain JSON', () => {
      const [first, later] = [benchmark.toExample(row, 0), benchmark.toExample(row, 99)];

      expect(later).toEqual(first);
      expect(JSON.parse(JSON.stringify(first))).toEqual(first);
    });

    test('refuses a row of another shape by naming the field', () => {
      if (name === 'mmlu_redux') return;

      expect(() => benchmark.toExample({ text: 'x' }, 0)).toThrow(/no (text|a list of texts) under "/);
    });
  },
);

test.each([
  ['gsm8k', makeExampleId('gsm8k', 'Ann has 3 pens and buys 4. How many?')],
  ['mmlu_pro', 'mmlu_pro_12'],
  ['ifeval', 'ifeval_77'],
  ['supergpqa', 'a1b2c3'],
  ['longbench', makeExampleId('longbench', 'What did the captain lose?')],
])('identifies examples of %s as the field does', (name, id) => {
  expect(exampleOf(findBenchmark(name), INVENTED_ROWS[name]?.row ?? {}).id).toBe(id);
});

test.each([
  ['math500', ['counting_probability', 'level_3']],
  ['mmlu_pro', ['computer_science']],
  ['mmlu_redux', ['college_physics']],
  ['gpqa', ['physics']],
  ['supergpqa', ['literature_and_arts', 'easy']],
  ['ceval', ['logic']],
  ['longbench', ['single_document_qa', 'hard', 'short']],
])('%s also scores by group', async (name, groups) => {
  const benchmark = findBenchmark(name);
  const { row, gold } = INVENTED_ROWS[name] ?? { row: {}, gold: '' };
  const example = exampleOf(benchmark, row);

  const { metrics } = await benchmark.grader.grade(gold.replace('{target}', example.target ?? ''), example);

  expect(metrics).toEqual(Object.fromEntries(groups.map((group) => [`${name}/${group}`, 1])));
});

describe('mmlu_redux', () => {
  test.each(['wrong_groundtruth', 'Bad question clarity', 'expert', undefined])(
    'leaves out rows labelled %s',
    (label) => {
      const { row } = INVENTED_ROWS['mmlu_redux'] ?? { row: {} };

      expect(findBenchmark('mmlu_redux').toExample({ ...row, error_type: label }, 0)).toBeNull();
    },
  );
});

describe('gpqa', () => {
  const questions = Array.from({ length: 400 }, (_, index) => ({
    Question: `Question ${index}?`,
    'Correct Answer': 'right',
    'Incorrect Answer 1': 'one',
    'Incorrect Answer 2': 'two',
    'Incorrect Answer 3': 'three',
  }));

  test('puts the right answer under each letter about as often', () => {
    const letters = questions.map((row) => exampleOf(findBenchmark('gpqa'), row).target);

    const counts = ['A', 'B', 'C', 'D'].map((letter) => letters.filter((each) => each === letter).length);

    expect(Math.min(...counts)).toBeGreaterThan(70);
    expect(counts.reduce((total, count) => total + count, 0)).toBe(400);
  });

  test('names the letter the right answer is shown under, and shows each option once', () => {
    for (const row of questions.slice(0, 50)) {
      const example = exampleOf(findBenchmark('gpqa'), row);
      const options = [...promptOf(example).matchAll(/^\(([A-D])\) (.*)$/gm)].map(([, letter, text]) => [
        text,
        letter,
      ]);

      expect(Object.fromEntries(options)).toMatchObject({ right: example.target });
      expect(options.map(([text]) => text).sort()).toEqual(['one', 'right', 'three', 'two']);
    }
  });
});

describe('longbench', () => {
  const { row } = INVENTED_ROWS['longbench'] ?? { row: {} };
  const context = `${'a'.repeat(600)}${'b'.repeat(600)}${'c'.repeat(600)}`;

  test('cuts a text that is too long in its middle', () => {
    const prompt = promptOf(exampleOf(longbenchWith({ contextCharacters: 1000 }), { ...row, context }));

    expect(prompt).toContain(`\n${'a'.repeat(500)}${'c'.repeat(500)}\n`);
  });

  test('leaves a text alone that fits', () => {
    const prompt = promptOf(exampleOf(longbenchWith({ contextCharacters: 1800 }), { ...row, context }));

    expect(prompt).toContain(context);
  });
});

test('examples that occur twice are both counted, in an order that depends on the seed alone', async () => {
  const gsm8k = findBenchmark('gsm8k');
  const rows = [1, 2, 2, 3, 4].map((n) => ({ question: `What is ${n}?`, answer: `#### ${n}` }));
  const read = () => Promise.resolve({ rows, source: 'here' });

  const [first, second] = [await loadExamples(gsm8k, read), await loadExamples(gsm8k, read)];

  expect(second).toEqual(first);
  expect(new Set(first.examples.map(({ id }) => id)).size).toBe(5);
  expect(first.examples.map(({ target }) => target)).not.toEqual(['1', '2', '2', '3', '4']);
});

test.each([
  ['mmlu-pro', 'mmlu_pro'],
  ['aime', 'aime_2025'],
  ['gsm8k', 'gsm8k'],
])('finds %s', (name, found) => {
  expect(findBenchmark(name).name).toBe(found);
});

test('names what there is when it does not know a benchmark', () => {
  expect(() => findBenchmark('gsm9k')).toThrow(
    /Unknown benchmark "gsm9k". Nearest: gsm8k or .*\. Known: arithmetic, gsm8k/,
  );
});

test.each([
  ['mmlu_pro', 'What is 2+2?', 'mmlu_pro_936dbc8755f6'],
  ['gsm8k', '', 'gsm8k_d41d8cd98f00'],
  ['x', 'emoji 😀', 'x_9346cd8ba739'],
])('ids of %s are those of tinker-cookbook', (prefix, text, id) => {
  expect(makeExampleId(prefix, text)).toBe(id);
});
