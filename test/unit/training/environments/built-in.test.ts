import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentConfig } from '../../../../src/config/environment-config';
import type { Message } from '../../../../src/core/conversation';
import { isHeldOutPair } from '../../../../src/core/held-out-pairs';
import type { HubRows } from '../../../../src/evaluation/benchmarks/benchmark';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { readRows } from '../../../../src/datasets/read-rows';
import { messageText } from '../../../../src/evaluation/runner/message-text';
import { judgedGrader } from '../../../../src/evaluation/judges/judged-grader';
import { generation } from '../../../../src/evaluation/kinds/generation';
import { perplexity } from '../../../../src/evaluation/kinds/perplexity';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { arithmetic as arithmeticBenchmark } from '../../../../src/evaluation/benchmarks/arithmetic';
import type { Row } from '../../../../src/evaluation/graders/row-grader';
import { closeMathGraders } from '../../../../src/evaluation/graders/math/math-graders';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import { THINGS } from '../../../../src/training/environments/games/things';
import { createGroupOrder } from '../../../../src/training/environments/group-order';
import type {
  EnvironmentDataset,
  EnvironmentGroup,
  TrainingStep,
} from '../../../../src/training/environments/environment-dataset';

const { signal } = new AbortController();
const facts = { stopReason: 'stop', isMalformed: false, signal } as const;

function build(config: object, rows: Record<string, readonly Row[]> = {}): Promise<EnvironmentDataset> {
  return buildEnvironments(EnvironmentConfig.parse(config), {
    plugins: NO_PLUGINS,
    seed: 0,
    readBenchmarkRows: async (name: string, data: HubRows) => {
      const key = `${name}:${data.split}`;
      const found = rows[key];
      if (found) return { rows: found, source: key };
      throw new Error(`asked for ${key}`);
    },
  });
}

async function answer(group: EnvironmentGroup, content: string): Promise<TrainingStep> {
  const environment = group.make(0);
  await environment.initialObservation();
  return environment.step({ role: 'assistant', content }, facts);
}

async function prompt(group: EnvironmentGroup): Promise<readonly Message[]> {
  return (await group.make(0).initialObservation()).messages;
}

async function question(group: EnvironmentGroup): Promise<string> {
  return (await prompt(group)).map(messageText).at(-1) ?? '';
}

function numbersIn(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}

function groupsOf(dataset: EnvironmentDataset): EnvironmentGroup[] {
  return Array.from({ length: dataset.length }, (_, index) => dataset.groupAt(index));
}

describe('arithmetic', () => {
  test('trains on the pairs that are not held out, and tests on the benchmark’s', async () => {
    const dataset = await build({ type: 'arithmetic' });

    const asked = await Promise.all(groupsOf(dataset).map(question));
    const pairs = asked.map(numbersIn);
    expect(pairs.some(([left = 0, right = 0]) => isHeldOutPair(left, right))).toBe(false);
    expect(dataset.length + (dataset.test?.length ?? 0)).toBe(90 * 90);
    const { data } = arithmeticBenchmark;
    const benchmarkIds =
      'rows' in data ? data.rows().map((row, index) => arithmeticBenchmark.toExample(row, index)?.id) : [];
    expect(groupsOf(dataset.test ?? dataset).map(({ id }) => id)).toEqual(benchmarkIds);
  });

  test.each([
    ['95', 1, 1],
    [' 95 ', 1, 1],
    ['The sum is 95', 0.9, 0],
    ['94', 0, 1],
    ['', -0.1, 0],
  ])('gives %j the reward %d', async (completion, reward, format) => {
    const dataset = await build({ type: 'arithmetic' });
    const groups = groupsOf(dataset);
    const asked = await Promise.all(groups.map(prompt));
    const index = asked.findIndex(([message]) => message?.content === '37+58=');

    const step = await answer(dataset.groupAt(index), completion);

    expect(step.reward).toBeCloseTo(reward, 10);
    expect(step.metrics).toMatchObject({ format });
    expect(step.isDone).toBe(true);
  });

  test.each([
    ['95', 1, 1],
    ['97', 0.5, 0],
    ['9', 0.5, 0],
    ['955', 0, 0],
  ])('with partial credit gives %j the reward %d', async (completion, reward, correct) => {
    const dataset = await build({ type: 'arithmetic', partialCredit: true });
    const asked = await Promise.all(groupsOf(dataset).map(question));

    const step = await answer(dataset.groupAt(asked.indexOf('37+58=')), completion);

    expect(step).toMatchObject({ reward, metrics: { correct } });
  });

  test('a reply without an end has the wrong form', async () => {
    const dataset = await build({ type: 'arithmetic', digits: 1, formatPenalty: 0.5 });
    const environment = dataset.groupAt(0).make(0);
    const [left = 0, right = 0] = numbersIn(await question(dataset.groupAt(0)));

    const step = await environment.step(
      { role: 'assistant', content: String(left + right) },
      { ...facts, stopReason: 'length' },
    );

    expect(step).toMatchObject({ reward: 0.5, metrics: { correct: 1, format: 0 } });
  });

  test.each([1, 2, 3, 5])('knows numbers of %d digits', async (digits) => {
    const dataset = await build({ type: 'arithmetic', digits });

    const [message] = await prompt(dataset.groupAt(dataset.length - 1));

    expect(message?.content).toMatch(new RegExp(`^\\d{${digits}}\\+\\d{${digits}}=$`));
    expect(dataset.length).toBeLessThanOrEqual(10_000);
  });
});

test('groups come in a seeded order, each once a pass, another in the next', () => {
  const order = createGroupOrder({ length: 50, seed: 3 });
  const pass = (start: number) => Array.from({ length: 50 }, (_, index) => order(start + index));

  const [first, second] = [pass(0), pass(50)];

  expect([...first].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  expect(second).not.toEqual(first);
  expect(pass(0)).toEqual(first);
  expect(createGroupOrder({ length: 50, seed: 3 })(73)).toBe(second[23]);
});

const gsm8kRow = (number: number) => ({
  question: `What is ${number} and 1?`,
  answer: `It is\n#### ${number + 1}`,
});

describe('benchmarks', () => {
  const rows = { 'gsm8k_train:train': [1, 2, 3, 4].map(gsm8kRow), 'gsm8k:test': [3, 9].map(gsm8kRow) };

  test('train on their train split without what is in the test split, which is the test set', async () => {
    const dataset = await build({ type: 'gsm8k' }, rows);

    expect(dataset.length).toBe(3);
    expect(dataset.test?.length).toBe(2);
    const messages = await prompt(dataset.groupAt(0));
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
  });

  test('give their grader’s verdict as the reward, and want the answer in its form', async () => {
    const dataset = await build({ type: 'gsm8k' }, rows);
    const group = dataset.groupAt(0);
    const [number = 0] = numbersIn(await question(group));

    const boxed = await answer(group, `So \\boxed{${number + 1}}`);
    const bare = await answer(group, `So ${number + 1}`);
    const wrong = await answer(group, `So \\boxed{${number}}`);

    expect([boxed, bare, wrong].map(({ reward }) => Math.round(reward * 10) / 10)).toEqual([1, 0.9, 0]);
  });

  test('of any name may be trained on, with messages of one’s own before the question', async () => {
    const dataset = await build(
      {
        type: 'benchmark',
        benchmark: 'gsm8k',
        systemPrompt: 'Answer.',
        prefix: [
          { role: 'user', content: '1+1?' },
          { role: 'assistant', content: '2' },
        ],
        limit: 2,
      },
      rows,
    );

    expect(dataset.length).toBe(2);
    const messages = await prompt(dataset.groupAt(0));
    expect(messages.map(({ content }) => content).slice(0, 3)).toEqual(['Answer.', '1+1?', '2']);
  });

  test('made by code keep some of their examples apart', async () => {
    const dataset = await build({ type: 'benchmark', benchmark: 'arithmetic', testSize: 63 });

    const { data } = arithmeticBenchmark;
    const count = 'rows' in data ? data.rows().length : 0;
    expect([dataset.length, dataset.test?.length]).toEqual([count - 63, 63]);
    const ids = [...groupsOf(dataset), ...groupsOf(dataset.test ?? dataset)].map(({ id }) => id);
    expect(new Set(ids).size).toBe(count);
  });

  test('that nobody knows, and data without a problem, are refused by name', async () => {
    await expect(build({ type: 'benchmark', benchmark: 'nope' })).rejects.toThrow('Unknown benchmark "nope"');
    await expect(build({ type: 'gsm8k' }, { 'gsm8k_train:train': [], 'gsm8k:test': [] })).rejects.toThrow(
      'gsm8k has no problem to train on',
    );
  });
});

describe('ifeval', () => {
  const rows = {
    'ifeval:train': [
      {
        key: 1,
        prompt: 'Write in lower case, without commas.',
        instruction_id_list: ['change_case:english_lowercase', 'punctuation:no_comma'],
        kwargs: [{}, {}],
      },
    ],
  };

  test.each([
    ['all', 'this is fine', 1],
    ['all', 'this, is half of it', 0],
    ['fraction', 'this, is half of it', 0.5],
    ['fraction', '', 0],
  ])('rewards %s of the instructions followed', async (reward, completion, expected) => {
    const dataset = await build({ type: 'ifeval', reward }, rows);

    expect((await answer(dataset.groupAt(0), completion)).reward).toBe(expected);
  });
});

describe('mathematics', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'everstep-math-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await closeMathGraders();
  });

  test('takes boxes that belong together as one answer, in a dataset of the hub too', async () => {
    const solution = 'So $\\boxed{1}$ and $\\boxed{2}$.';
    const dataset = await build(
      { type: 'math', dataset: 'math', testSize: 0 },
      { 'math_train:train': [{ problem: 'Which?', solution }] },
    );

    expect((await answer(dataset.groupAt(0), '\\boxed{2, 1}')).reward).toBe(1);
    expect((await answer(dataset.groupAt(0), '\\boxed{2}')).reward).toBe(0);
  });

  test('reads rows of one’s own, finds the reference in the solution, and judges by equivalence', async () => {
    const path = join(folder, 'rows.jsonl');
    const rows = [
      { problem: 'Half of one?', solution: 'It is $\\boxed{\\frac{1}{2}}$.' },
      { question: 'Half of two?', answer: 1 },
      { problem: 'Nobody knows.', solution: 'Left to the reader.' },
    ];
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    const dataset = await build({ type: 'math', path, testSize: 0 });

    const groups = groupsOf(dataset);
    const asked = await Promise.all(groups.map(question));
    expect([...asked].sort()).toEqual(['Half of one?', 'Half of two?']);
    const half = groups[asked.indexOf('Half of one?')];
    if (!half) throw new Error('the problem is missing');
    const rewards = ['\\boxed{0.5}', '\\boxed{\\dfrac12}', '\\boxed{2}', 'I do not know.'];
    const steps = await Promise.all(rewards.map((completion) => answer(half, completion)));
    expect(steps.map(({ reward }) => reward)).toEqual([1, 1, 0, -0.1]);
  });

  test.each([
    [{ problem: 'Half of one?', anser: '1/2' }, /line 1: A row of mathematics needs "answer", or "solution"/],
    [{ problem: 'Half of one?', answer: '' }, /line 1: A row of mathematics has an empty "answer"/],
    [
      { problem: 'Half of one?', answer: '1/2', system: 'In French.' },
      /line 1: field "system": it would not be asked: of this row "problem" is/,
    ],
    [
      { problem: 'Half of one?', answer: '1/2', question: 'Of two?' },
      /line 1: field "question": it would not be asked/,
    ],
    [
      { problem: 9007199254740993, answer: '1/2' },
      /line 1: .*more digits than numbers keep here. Write it as a text/,
    ],
    [{ problem: 'Half of one?', answer: '  ' }, /line 1: A row of mathematics has an empty "answer"/],
    [{ problem: 'Half of one?', answer: '\\boxed{ }' }, /line 1: no answer found in the reference/],
    [{ problem: 'Half of one?', solution: 'It is $\\boxed{}$.' }, /line 1: no answer found in the reference/],
    [
      { problem: 'Half of one?', answer: ['1/2', '2'], solution: '$\\boxed{1}$' },
      /line 1: field "answer": has to be/,
    ],
    [{ problem: ' ', answer: '1/2' }, /line 1: .* needs "problem" or "question", a text that is not empty/],
    [{ prompt: ' ', answer: '1/2' }, /line 1: .* needs .* or a text under "prompt"/],
    [
      { problem: 'Half of one?', answer: 'B', choices: ['1', '1/2'] },
      /line 1: field "choices": it would not/,
    ],
    [{ problem: 'Half of one?', answer: 'B', options: '["1", "1/2"]' }, /line 1: field "options": it would/],
    [
      { problem: 'Half of one?', answer: '1/2', hint: 'Divide.' },
      /line 1: field "hint": it would not be asked/,
    ],
    [{ probem: 'Half of one?', answer: '1/2' }, /line 1: A row of mathematics needs "problem" or "question"/],
  ])('refuses a row without what it needs: %j', async (row, words) => {
    const path = join(folder, 'misspelt.jsonl');
    writeFileSync(path, JSON.stringify(row));

    await expect(build({ type: 'math', path, testSize: 0 })).rejects.toThrow(words);
  });
});

test('choices and a hint that stand in the problem are asked with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-choices-'));
  const path = join(folder, 'rows.jsonl');
  const problem = 'Half of one? A. 1 B. 1/2. Divide.';
  const rows = [
    { problem, answer: 'B', choices: ['1', '1/2'], hint: 'Divide.' },
    { problem, answer: 'B', options: '["1", "1/2"]', choices: { label: ['A', 'B'], text: ['1', '1/2'] } },
    { problem: '', question: problem, answer: 'B', options: [], hint: null },
  ];
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));

  expect((await build({ type: 'math', path, testSize: 0 })).length).toBe(3);
  rmSync(folder, { recursive: true, force: true });
});

describe('twenty questions', () => {
  test('is won by naming the thing, with answers that lead there', async () => {
    const dataset = await build({ type: 'twenty_questions', maxQuestions: 5, testSize: 8 });
    const environment = dataset.groupAt(0).make(0);
    await environment.initialObservation();
    const say = (content: string) => environment.step({ role: 'assistant', content }, facts);

    const animal = await say('Is it an animal?');
    const odd = await say('What is love?');

    expect(['Yes.', 'No.']).toContain(animal.nextMessages[0]?.content);
    expect(odd.nextMessages[0]?.content).toBe('I cannot say.');
    await say('Is it a dog or a cat?');
    await say('Is it big?');
    const last = await say('Is it heavy?');
    expect(last).toMatchObject({
      isDone: true,
      reward: 0,
      stopReason: 'max_turns',
      metrics: { questions: 5 },
    });
  });

  test('every thing is found by a player that knows the things, in training and test alike', async () => {
    const dataset = await build({ type: 'twenty_questions', maxQuestions: 100 });
    const all = [...groupsOf(dataset), ...groupsOf(dataset.test ?? dataset)];

    for (const group of all) {
      const environment = group.make(0);
      let reward = 0;
      for (const { name } of THINGS) {
        const step = await environment.step({ role: 'assistant', content: `Is it a ${name}?` }, facts);
        if (step.isDone) reward = step.reward;
        if (step.isDone) break;
      }
      expect(reward).toBe(1);
    }
    expect(all).toHaveLength(THINGS.length);
  });
});

const shared = '/work/shared/data';
const testWithData = existsSync(shared) ? test : test.skip;

testWithData('real rows of gsm8k become problems that their references solve', async () => {
  const read = createBenchmarkRowReader({ hub: { cacheFolder: tmpdir() }, dataFolder: shared });
  const sources = { plugins: NO_PLUGINS, seed: 0, readBenchmarkRows: read };
  const config = EnvironmentConfig.parse({
    type: 'benchmark',
    benchmark: 'gsm8k',
    split: 'test',
    testSize: 100,
  });
  const references = new Map(
    (await readRows({ path: join(shared, 'gsm8k/data.jsonl') })).rows.map((row) => [
      row['question'],
      row['answer'],
    ]),
  );

  const dataset = await buildEnvironments(config, sources);

  expect(dataset.length + (dataset.test?.length ?? 0)).toBe(references.size);
  for (const group of groupsOf(dataset).slice(0, 200)) {
    const reference = references.get(await question(group));
    const step = await answer(group, String(reference));
    expect(step.reward).toBe(1);
  }
});

describe('a task that measures sample by sample', () => {
  const rows = () => ['red', 'blue', 'green'].map((word) => ({ word }));
  const echo = (higherIsBetter: boolean) =>
    generation({
      name: 'echo',
      data: { rows },
      maxNewTokens: 4,
      higherIsBetter,
      get: ({ word }) => (word === 'blue' ? null : { prompt: `Say ${String(word)}`, gold: String(word) }),
      clean: (text) => text.trim().toLowerCase(),
      score: (gold, text) => (text === gold ? 1 : 0.25),
    });
  const scored = perplexity({ name: 'scored', data: { rows }, get: ({ word }) => String(word) });

  function buildTask(task: ReturnType<typeof echo>): Promise<EnvironmentDataset> {
    return buildEnvironments(EnvironmentConfig.parse({ type: 'kind', task: 'mine', testSize: 1 }), {
      plugins: { ...NO_PLUGINS, kinds: new Map([['mine', () => task]]) },
      seed: 0,
      readBenchmarkRows: () => Promise.reject(new Error('reads nothing')),
    });
  }

  test('rewards a reply with its value', async () => {
    const dataset = await buildTask(echo(true));
    const [group] = groupsOf(dataset);
    if (!group) throw new Error('there is a problem');
    const asked = await question(group);

    expect(dataset).toMatchObject({ length: 1, test: { length: 1 } });
    expect(asked).toMatch(/^Say (red|green)$/);
    expect(await answer(group, ` ${asked.slice(4).toUpperCase()} `)).toMatchObject({ reward: 1 });
    expect(await answer(group, 'mauve')).toMatchObject({ reward: 0.25, metrics: { correct: 0.25 } });
  });

  test('takes the value off where lower is better', async () => {
    const [group] = groupsOf(await buildTask(echo(false)));
    if (!group) throw new Error('there is a problem');

    expect(await answer(group, 'mauve')).toMatchObject({ reward: -0.25 });
  });

  test('is refused where the model writes nothing', async () => {
    await expect(buildTask(scored)).rejects.toThrow(/by likelihood \(perplexity\).*winogrande, sst2, squad/);
  });
});

test('a benchmark that another model judges is refused where none is named', async () => {
  const benchmark = {
    ...arithmeticBenchmark,
    name: 'judged',
    data: { rows: () => [{ question: '1+1=', answer: '2' }] },
    grader: judgedGrader({
      name: 'judged',
      version: '1',
      vote: () => Promise.reject(new Error('not asked')),
    }),
  };
  const plugins = { ...NO_PLUGINS, benchmarks: new Map([['judged', () => benchmark]]) };
  const config = EnvironmentConfig.parse({ type: 'benchmark', benchmark: 'judged' });

  await expect(
    buildEnvironments(config, {
      plugins,
      seed: 0,
      readBenchmarkRows: () => Promise.reject(new Error('reads nothing')),
    }),
  ).rejects.toThrow(/answers of judged are judged by a model, and none is named. Give "judge"/);
});

test.each([{ type: 'arithmetic' }, { type: 'twenty_questions' }])(
  'a rollout of %j that a limit ended counts as wrong',
  async (config) => {
    const [group] = groupsOf(await build(config));
    const environment = group?.make(0);
    await environment?.initialObservation();

    const grade = await environment?.gradeEarlyEnd?.({
      stopReason: 'context_overflow',
      messages: [],
      signal,
    });

    expect(grade).toMatchObject({ reward: 0, metrics: { correct: 0 } });
  },
);
