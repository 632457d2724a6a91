import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Completer } from '../../../../src/core/completion';
import type { Message } from '../../../../src/core/conversation';
import type { MessageEnvironment } from '../../../../src/core/environment';
import { findBenchmark, registerBenchmark } from '../../../../src/evaluation/benchmarks';
import { loadExamples, streamExamples } from '../../../../src/evaluation/benchmarks/load-examples';
import { findKind } from '../../../../src/evaluation/kinds';
import { loadKindRows } from '../../../../src/evaluation/kinds/load-kind-rows';
import { kindIdentity } from '../../../../src/evaluation/kinds/score-kind';
import { loadPlugins } from '../../../../src/evaluation/plugins';

const EXAMPLE = resolve(__dirname, '../../../../examples/custom-benchmark/everstep.config.ts');
const nothingToRead = () => Promise.reject(new Error('nothing is read from the hub'));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-plugin-benchmarks-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

function pluginFile(source: string): string {
  const path = join(folder, 'everstep.config.ts');
  writeFileSync(path, source);
  return path;
}

const ONE = `{ data: { rows: () => [{ q: '1+1=' }] }, toExample: ({ q }) => ({ prompt: q, target: '2' }), grader: (reply, { target }) => reply === target }`;

/** A model that halves what is left of 1…100. */
function halvingCompleter(): Completer {
  return {
    complete({ messages }) {
      let [low, high] = [1, 100];
      let guess = 50;
      for (const { role, content } of messages.slice(1)) {
        if (role === 'assistant') guess = Number(content);
        if (content === 'Higher.') low = guess + 1;
        if (content === 'Lower.') high = guess - 1;
      }
      const text = String(Math.floor((low + high) / 2));
      return Promise.resolve({
        message: { role: 'assistant', content: text },
        rawText: text,
        stopReason: 'stop',
        promptTokenCount: null,
        completionTokenCount: null,
        seconds: 0,
      });
    },
    close: () => Promise.resolve(),
  };
}

async function play(environment: MessageEnvironment, completer: Completer): Promise<number> {
  const messages: Message[] = [...(await environment.initialObservation()).messages];
  const signal = new AbortController().signal;
  for (let reward = 0; ;) {
    const { message } = await completer.complete({
      messages,
      params: { maxTokens: 8, temperature: 0, topP: 1 },
    });
    const step = await environment.step(message, { stopReason: 'stop', isMalformed: false, signal });
    reward += step.reward;
    if (step.isDone) return reward;
    messages.push(message, ...step.nextMessages);
  }
}

describe('the example of the repository', () => {
  test('asks the rows beside it and judges with its function', async () => {
    const plugins = await loadPlugins(EXAMPLE);
    const capitals = findBenchmark('capitals', plugins);

    const { examples } = await loadExamples(capitals, nothingToRead);
    const [france] = examples;

    expect(examples).toHaveLength(5);
    expect(france).toMatchObject({
      messages: [{ role: 'user', content: 'What is the capital of France? Answer with its name alone.' }],
      target: 'Paris',
    });
    expect(france && (await capitals.grader.grade('Paris.', france))).toMatchObject({ value: 1 });
    expect(france && (await capitals.grader.grade('', france))).toMatchObject({ value: 0, answer: null });
    expect(capitals.generation).toEqual({ maxTokens: 32, temperature: 0, topP: 1 });
  });

  test.each([
    ['with enough turns', {}, 5],
    ['with the turns of its options', { turns: 2 }, 0],
  ])('plays several turns %s', async (_, options, found) => {
    const guessNumber = findBenchmark('guess-number', await loadPlugins(EXAMPLE), options);
    const { examples } = await loadExamples(guessNumber, nothingToRead);

    const rewards = await Promise.all(
      examples.map((example) => {
        const environment = guessNumber.environment?.(example);
        if (!environment) throw new Error('it has no environment');
        return play(environment, halvingCompleter());
      }),
    );

    expect(rewards.reduce((total, reward) => total + reward, 0)).toBe(found);
  });
});

test('the version of its grader follows the plug-in file', async () => {
  const first = findBenchmark(
    'one',
    await loadPlugins(pluginFile(`export const benchmarks = { one: ${ONE} };`)),
  );
  const second = findBenchmark(
    'one',
    await loadPlugins(pluginFile(`// changed\nexport const benchmarks = { one: ${ONE} };`)),
  );

  expect(first.grader.version).toMatch(/^one@[0-9a-f]{16}$/);
  expect(second.grader.version).not.toBe(first.grader.version);
});

describe('what its file imports', () => {
  const USES = `import { judge } from './judging/judge';\nexport const benchmarks = { one: { ...${ONE}, grader: judge } };`;
  const versionIn = async (name = 'one') =>
    findBenchmark(name, await loadPlugins(join(folder, 'everstep.config.ts'))).grader.version;

  beforeEach(() => {
    mkdirSync(join(folder, 'judging'));
    writeFileSync(join(folder, 'judging', 'judge.ts'), "export { judge } from './exact.js';");
    writeFileSync(join(folder, 'judging', 'exact.ts'), 'export const judge = () => 1;');
    pluginFile(USES);
  });

  test.each([
    ['a file', 'judging/judge.ts', "export { judge } from './exact.js'; // read"],
    ['a file of a file, by the name it is compiled to', 'judging/exact.ts', 'export const judge = () => 0;'],
  ])('belongs to the version of its grader: %s', async (_, name, text) => {
    const before = await versionIn();

    writeFileSync(join(folder, name), text);

    expect(await versionIn()).not.toBe(before);
  });

  test('a file that nothing imports does not', async () => {
    const before = await versionIn();

    writeFileSync(join(folder, 'judging', 'other.ts'), 'export const judge = () => 0;');

    expect(await versionIn()).toBe(before);
  });
});

test('a grader with a version of its own has that of the file too', async () => {
  const own = (value: number) =>
    `class Own { name = 'own'; version = 'own@1'; grade() { return { value: ${value}, answer: null }; } }
     export const benchmarks = { one: { ...${ONE}, grader: new Own() } };`;
  const load = async (value: number) =>
    findBenchmark('one', await loadPlugins(pluginFile(own(value)))).grader;

  const [first, second] = [await load(1), await load(0)];

  expect(first.version).toMatch(/^own@1 one@[0-9a-f]{16}$/);
  expect(second.version).not.toBe(first.version);
  expect(await first.grade('', { id: 'a', messages: [], target: null })).toMatchObject({ value: 1 });
});

test('a task measured by generation or likelihood has the version of the file', async () => {
  const task = (check: string) =>
    `import { generation } from 'everstep';
     export const kinds = { echo: generation({ name: 'echo', data: { rows: () => [{}] }, maxNewTokens: 4,
       get: () => ({ prompt: 'a', gold: 'a' }), check: () => ${check} }) };`;
  const asked = { rows: [{}], indices: [0], reduce: 'mean' } as const;
  const versionOf = async (check: string) =>
    kindIdentity(findKind('echo', await loadPlugins(pluginFile(task(check)))), asked).graderVersion;

  const before = await versionOf('true');

  expect(before).toMatch(/^generation@1 echo@[0-9a-f]{16}$/);
  expect(await versionOf('false')).not.toBe(before);
});

test.each([
  ['throws nothing', '() => { throw undefined; }', 'data.rows threw: undefined'],
  ['throws an error', "() => { throw new Error('no disk'); }", 'data.rows threw: no disk'],
  ['throws while it is read', "function* () { yield {}; throw 'late'; }", 'data.rows threw: late'],
  ['gives nothing', '() => undefined', 'data.rows must return an array of rows, not undefined.'],
  ['is async', 'async () => []', 'data.rows must return an array of rows, not Promise'],
])('a function of rows that %s is named with its file', async (_, rows, said) => {
  const own = `{ ...${ONE}, data: { rows: ${rows} } }`;
  const task = `generation({ name: 'echo', data: { rows: ${rows} }, maxNewTokens: 4, get: () => ({ prompt: 'a', gold: 'a' }), check: () => true })`;
  const file = pluginFile(
    `import { generation } from 'everstep';
     export const benchmarks = { one: ${own} };\nexport const kinds = { echo: ${task} };`,
  );
  const plugins = await loadPlugins(file);

  const failures = [
    await failureOf(loadExamples(findBenchmark('one', plugins), nothingToRead)),
    await failureOf(streamExamples(findBenchmark('one', plugins), nothingToRead)),
    await failureOf(loadKindRows(findKind('echo', plugins), nothingToRead)),
  ];

  const refused = (what: string) => ({
    ...{ code: 'bad-plugin', retryable: false },
    message: expect.stringContaining(`plugins: ${file}: ${what}: ${said}`) as string,
  });
  expect(failures).toMatchObject([
    refused('benchmark "one"'),
    refused('benchmark "one"'),
    refused('task "echo"'),
  ]);
});

test('an example that cannot be stored is refused with benchmark and file', async () => {
  const own = `{ ...${ONE}, toExample: () => ({ prompt: 'a', row: { n: 10n } }) }`;
  const file = pluginFile(`export const benchmarks = { one: ${own} };`);

  const refused = await failureOf(loadExamples(findBenchmark('one', await loadPlugins(file)), nothingToRead));

  expect(refused).toMatchObject({
    code: 'bad-plugin',
    message: expect.stringContaining(
      `plugins: ${file}: benchmark "one" toExample: row cannot be stored as JSON: Do not know how to serialize a BigInt`,
    ) as string,
  });
});

test.each([
  [
    'no data',
    '{ toExample: () => null, grader: () => 1 }',
    /benchmark "one" data: must be \{ rows: function/,
  ],
  ['no toExample', '{ data: { rows: () => [] }, grader: () => 1 }', /toExample: must be a function/],
  [
    'a misspelt key that may be left out',
    '{ data: { rows: () => [] }, toExample: () => null, grader: () => 1, versoin: 2 }',
    /Unknown key "versoin". Did you mean "version"\?/,
  ],
  ['no grader', '{ data: { rows: () => [] }, toExample: () => null }', /grader: is missing; give a grader/],
  [
    'a grader that is a word',
    `{ data: { rows: () => [] }, toExample: () => null, grader: 'exact' }`,
    /grader: must be a function/,
  ],
  [
    'a wrong version',
    `{ version: 0, data: { rows: () => [] }, toExample: () => null, grader: () => 1 }`,
    /version: /,
  ],
  [
    'a misspelt setting',
    `{ data: { rows: () => [] }, toExample: () => null, grader: () => 1, generation: { max_tokens: 1 } }`,
    /generation: .*max_tokens/,
  ],
  ['no object', '3', /must be an object/],
])('refuses a benchmark with %s when the file is loaded', async (_, source, message) => {
  const file = pluginFile(`export const benchmarks = { one: ${source} };`);

  expect(await failureOf(loadPlugins(file))).toMatchObject({
    code: 'bad-plugin',
    message: expect.stringMatching(message) as string,
  });
});

test.each([
  ['a name of the catalogue', 'gsm8k', /has the name of one of the catalogue/],
  ['a name that is no key', "'my bench'", /needs a name of letters, digits/],
])('refuses %s', async (_, name, message) => {
  const file = pluginFile(`export const benchmarks = { ${name}: ${ONE} };`);

  expect(await failureOf(loadPlugins(file))).toMatchObject({
    message: expect.stringMatching(message) as string,
  });
});

test('checks what a function returns when it is called with its options', async () => {
  const plugins = await loadPlugins(
    pluginFile(`export const benchmarks = { one: ({ good }) => (good ? ${ONE} : { data: 1 }) };`),
  );

  expect(findBenchmark('one', plugins, { good: true }).name).toBe('one');
  expect(() => findBenchmark('one', plugins)).toThrow(/benchmark "one" data: must be/);
});

test('refuses an example without a prompt', async () => {
  const plugins = await loadPlugins(
    pluginFile(`export const benchmarks = { one: { ...${ONE}, toExample: () => ({ question: 'x' }) } };`),
  );

  expect(await failureOf(loadExamples(findBenchmark('one', plugins), nothingToRead))).toMatchObject({
    message: expect.stringContaining('must return { prompt, target }') as string,
  });
});

test('an unknown name is answered with those of the plug-in file too', async () => {
  const plugins = await loadPlugins(EXAMPLE);

  expect(() => findBenchmark('capital', plugins)).toThrow(
    /Unknown benchmark "capital"\. Nearest: capitals or .*\. Known: .*capitals, guess_number\.$/,
  );
});

describe('registerBenchmark', () => {
  test('adds a benchmark for this process, and replaces it', () => {
    const input = {
      name: 'mine',
      data: { rows: () => [{ q: 'x' }] },
      toExample: () => ({ prompt: 'x', target: 'y' }),
      grader: () => true,
    };

    registerBenchmark(input);
    registerBenchmark({ ...input, version: 2 });

    expect(findBenchmark('mine').version).toBe(2);
  });

  test('a grader that changes the example it is given changes no other sample of it', async () => {
    const seen: string[] = [];
    const change = (example: { id: string; row?: { parts?: unknown } }) => {
      seen.push(JSON.stringify([example.id, example.row?.parts]));
      example.id = 'other';
      if (Array.isArray(example.row?.parts)) example.row.parts.pop();
      return true;
    };
    registerBenchmark({
      ...{ name: 'changing', data: { rows: () => [] }, toExample: () => null },
      grader: (_, example) => change(example),
    });
    const example = { id: 'a', messages: [], target: null, row: { parts: [1, 2] } };
    const { grader } = findBenchmark('changing');

    for (const reply of ['x', 'y']) await grader.grade(reply, example);

    expect(seen).toEqual(['["a",[1,2]]', '["a",[1,2]]']);
    expect(example).toMatchObject({ id: 'a', row: { parts: [1, 2] } });
  });

  test('refuses a name of the catalogue', () => {
    const input = { name: 'gsm8k', data: { rows: () => [] }, toExample: () => null, grader: () => 1 };

    expect(() => registerBenchmark(input)).toThrow(/registerBenchmark: benchmark "gsm8k" has the name/);
  });
});
