import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../../src/core/errors';
import { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { evaluateCell } from '../../../src/evaluation/evaluate-cell';
import { loadPlugins, NO_PLUGINS } from '../../../src/evaluation/plugins';
import { validateEvaluators } from '../../../src/evaluation/validate-evaluators';
import { loadResult } from '../../../src/stores/eval-store';
import { dependenciesOf, modelThatSays, sumIn, tokenizer, workOf } from './measured-model';
import { thrownBy } from '../stores/thrown-by';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-plugins-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function pluginFile(source: string, name = 'everstep.config.ts'): string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

const EXAMPLE = resolve(__dirname, '../../../configs/plugins/everstep.config.ts');
const SUMS = [1, 2, 3, 4].map((a) => ({
  id: String(a),
  messages: [
    { role: 'user', content: `${a}+1=` },
    { role: 'assistant', content: String(a + 1) },
  ],
}));

function custom(options: object = {}) {
  return EvaluatorConfig.parse({
    type: 'custom',
    name: 'sums',
    grader: 'closeEnough',
    dataset: { path: 'sums.jsonl' },
    maxTokens: 16,
    ...options,
  });
}

function plugin(options: object = {}) {
  return EvaluatorConfig.parse({ type: 'plugin', name: 'habits', evaluator: 'answerLength', ...options });
}

describe('a plug-in file', () => {
  test.each<[string, (path: string) => unknown, string]>([
    [
      'a pipe',
      (path) => execFileSync('mkfifo', [path]),
      'it is no plain file, but a pipe, a socket or a device',
    ],
    [
      'a device',
      (path) => {
        symlinkSync('/dev/zero', path);
      },
      'it is no plain file, but a pipe, a socket or a device',
    ],
    [
      'a folder',
      (path) => {
        mkdirSync(path);
      },
      'it is a folder',
    ],
    [
      'a link to itself',
      (path) => {
        symlinkSync(path, path);
      },
      'it is a link that leads back to itself',
    ],
    [
      'larger than code can be',
      (path) => {
        writeFileSync(path, '');
        truncateSync(path, 33 * 1024 * 1024);
      },
      'it has more than 32 MiB',
    ],
  ])('that is %s is refused by name', async (_, make, reason) => {
    const path = join(folder, 'everstep.config.ts');
    make(path);
    const loaded = loadPlugins(path);

    await expect(loaded).rejects.toMatchObject({ code: 'bad-plugin' });
    await expect(loaded).rejects.toThrow(
      `plugins: ${path} cannot be read: ${reason}. Give the path of a file of code, of at most 32 MiB.`,
    );
  });

  test('may be a link to one', async () => {
    pluginFile('export const graders = { mine: () => 1 };', 'own.ts');
    symlinkSync('own.ts', join(folder, 'link.ts'));

    const { graders } = await loadPlugins(join(folder, 'link.ts'));

    expect([...graders.keys()]).toEqual(['mine']);
  });
});

describe('packages that a plug-in imports', () => {
  const USES_BOTH = `
    import { createToolEnvironment, defineTool, DomainError } from 'everstep';
    import { z } from 'zod';
    const add = defineTool({
      name: 'add',
      description: 'Adds two numbers',
      parameters: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => String(a + b),
    });
    export const environments = { add: createToolEnvironment({ messages: [], tools: [add], grade: () => ({ reward: 1 }) }), DomainError, z };
  `;

  test('everstep is the library that runs, and zod is there, wherever the file lies', async () => {
    const { environments } = await loadPlugins(pluginFile(USES_BOTH));

    expect(environments.get('DomainError')).toBe(DomainError);
    expect(environments.get('z')).toBe(z);
    expect(environments.get('add')).toHaveProperty('initialObservation');
  });

  test('a zod of its own comes first', async () => {
    const own = join(folder, 'node_modules', 'zod');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'index.js'), "exports.z = 'its own';");

    const { graders, environments } = await loadPlugins(
      pluginFile("import { z } from 'zod'; export const environments = { z };"),
    );

    expect(graders.size).toBe(0);
    expect(environments.get('z')).toBe('its own');
  });

  test.each(["'no-such-thing'", "'@some/no-such-thing/part'"])(
    'without %s it says how to get it',
    async (name) => {
      const file = pluginFile(`import x from ${name}; export const graders = { x };`);
      const thrown: unknown = await loadPlugins(file).catch((error: unknown) => error);
      const wanted = name.replaceAll("'", '').replace('/part', '');

      expect(thrown).toMatchObject({ code: 'bad-plugin' });
      expect(String(thrown)).toContain(`\`npm install ${wanted}\` in ${folder}.`);
    },
  );
});

describe('loading', () => {
  test('brings the names of the shipped example, and its hash', async () => {
    const plugins = await loadPlugins(EXAMPLE);

    expect([...plugins.graders.keys()]).toEqual(['closeEnough']);
    expect([...plugins.evaluators.keys()]).toEqual(['answerLength']);
    expect(plugins.hash).toBe(createHash('sha256').update(readFileSync(EXAMPLE)).digest('hex'));
  });

  test('reads types and a default export', async () => {
    const path = pluginFile(
      'const one: number = 1;\nexport default { graders: { always: (text: string): number => one } };\n',
    );

    expect([...(await loadPlugins(path)).graders.keys()]).toEqual(['always']);
  });

  test.each(['module.exports = { graders: { always: () => 1 } };', 'exports.graders = { always: () => 1 };'])(
    'reads plain JavaScript: %s',
    async (source) => {
      expect([...(await loadPlugins(pluginFile(source, 'plugins.cjs'))).graders.keys()]).toEqual(['always']);
    },
  );

  test.each([
    ['no such file', null, /cannot be read/],
    ['code that fails', 'throw new Error("boom");', /fails when loaded: boom/],
    ['code that is none', 'export const = ;', /fails when loaded: [^\n]+$/],
    ['nothing', 'export const other = 1;', /exports nothing that is known/],
    [
      'a grader that is no function',
      'export const graders = { bad: 1 };',
      /a grader "bad" that is not a function/,
    ],
    ['graders that are a list', 'export const graders = [];', /"graders" that is no object/],
    [
      'an evaluator without kind',
      'export const evaluators = { bad: { evaluate() {} } };',
      /an evaluator "bad" without kind: 'sampling'/,
    ],
    [
      'an evaluator of another kind',
      "export const evaluators = { bad: { kind: 'smapling', evaluate() {} } };",
      /an evaluator "bad" whose kind is "smapling", not 'sampling'/,
    ],
    [
      'an evaluator without what it does',
      "export const evaluators = { bad: { kind: 'sampling', evalute() {} } };",
      /an evaluator "bad" without a function evaluate/,
    ],
  ])('refuses %s', async (_what, source, message) => {
    const path = source === null ? join(folder, 'missing.ts') : pluginFile(source);

    await expect(loadPlugins(path)).rejects.toMatchObject({
      code: 'bad-plugin',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('checking before the first step', () => {
  test('accepts what is there', async () => {
    const plugins = await loadPlugins(EXAMPLE);

    validateEvaluators([custom(), plugin(), EvaluatorConfig.parse('arithmetic')], plugins);
  });

  test('names what is unknown and what is known', async () => {
    const plugins = await loadPlugins(EXAMPLE);

    const check = (config: EvaluatorConfig) => () => {
      validateEvaluators([config], plugins);
    };
    expect(check(custom({ grader: 'nope' }))).toThrow(
      `grader: unknown grader "nope". ${EXAMPLE} has: closeEnough.`,
    );
    expect(check(plugin({ evaluator: 'nope' }))).toThrow(
      `evaluator: unknown evaluator "nope". ${EXAMPLE} has: answerLength.`,
    );
    expect(check(plugin({ evaluator: 'answerLenght' }))).toThrow(
      `unknown evaluator "answerLenght". Did you mean "answerLength"? ${EXAMPLE} has: answerLength.`,
    );
    expect(check(EvaluatorConfig.parse('nope'))).toThrow('Unknown benchmark "nope". Nearest: ');
    expect(() => {
      validateEvaluators([custom()], NO_PLUGINS);
    }).toThrow('No plug-in file is loaded: name it under "plugins" in the config.');
  });

  test('refuses evaluators that need the training client', async () => {
    const path = pluginFile(
      'export const evaluators = { probe: { name: "probe", kind: "training", evaluate: async () => ({}) } };',
    );
    const plugins = await loadPlugins(path);

    expect(
      thrownBy(() => {
        validateEvaluators([plugin({ evaluator: 'probe' })], plugins);
      }),
    ).toMatchObject({ code: 'bad-plugin', message: expect.stringContaining('training client') as string });
  });
});

describe('a grader', () => {
  test('judges the completions of a dataset', async () => {
    const { sampler } = modelThatSays((question) => (question === '4+1=' ? '6' : sumIn(question)));
    const work = workOf({ name: 'sums' });
    const plugins = await loadPlugins(EXAMPLE);

    const scores = await evaluateCell(dependenciesOf(sampler, { rows: SUMS, plugins }), {
      ...work,
      evaluator: custom(),
    });

    expect(scores).toMatchObject([
      { metric: 'accuracy', key: 'test/sums/accuracy', value: 0.875, n: 4, higherIsBetter: true },
    ]);
    const result = await loadResult(join(work.folder, '..'), work.folder.split('/').at(-1) ?? '');
    expect(result?.identity.graderVersion).toBe(`closeEnough@${plugins.hash?.slice(0, 16) ?? ''}`);
  });

  test('that fails makes nothing be sampled again', async () => {
    const { sampler, asked } = modelThatSays(sumIn);
    const work = workOf({ name: 'sums' });
    const failing = await loadPlugins(
      pluginFile('export const graders = { closeEnough() { throw new Error("judge is away"); } };'),
    );
    const evaluated = evaluateCell(dependenciesOf(sampler, { rows: SUMS, plugins: failing }), {
      ...work,
      evaluator: custom(),
    });
    await expect(evaluated).rejects.toThrow('All 4 examples failed, the first with: grader: judge is away');

    const plugins = await loadPlugins(EXAMPLE);
    const [score] = await evaluateCell(dependenciesOf(sampler, { rows: SUMS, plugins }), {
      ...work,
      epoch: 2,
      evaluator: custom(),
    });

    expect(score?.value).toBe(1);
    expect(asked).toHaveLength(4);
  });

  test('that fails on all it sees is no accuracy of 0, though other replies were cut off', async () => {
    const { sampler } = modelThatSays((question) => (question === '1+1=' ? 'a'.repeat(50) : sumIn(question)));
    const plugins = await loadPlugins(
      pluginFile('export const graders = { closeEnough() { throw new Error("judge is away"); } };'),
    );

    const evaluated = evaluateCell(dependenciesOf(sampler, { rows: SUMS, plugins }), {
      ...workOf({ name: 'sums' }),
      evaluator: custom(),
    });

    await expect(evaluated).rejects.toThrow('All 3 examples that were not cut off failed');
  });

  test('that fails on some examples is said beside the score, with the line of its code', async () => {
    const { sampler } = modelThatSays(sumIn);
    const plugins = await loadPlugins(
      pluginFile(
        'export const graders = {\n  closeEnough(text: string) {\n    if (text === "3") throw new Error("no 3");\n    return 1;\n  },\n};',
      ),
    );

    const [score] = await evaluateCell(dependenciesOf(sampler, { rows: SUMS, plugins }), {
      ...workOf({ name: 'sums' }),
      evaluator: custom(),
    });

    expect(score).toMatchObject({
      value: 0.75,
      remark: expect.stringMatching(
        /^1 of 4 examples failed and count 0, the first with: grader: no 3 \(thrown at .*everstep\.config\.ts:3:\d+\)$/,
      ) as string,
    });
  });

  test('sees the calls of a reply where its row declares tools, and the model is told of them', async () => {
    const { sampler, requests } = modelThatSays(() => '<|call|>weather{"city": "Oslo"}');
    const weather = { name: 'weather', description: '', parameters: { type: 'object', properties: {} } };
    const call = { name: 'weather', arguments: '{"city": "Oslo"}' };
    const row = {
      id: 'a',
      messages: [
        { role: 'user', content: 'Weather in Oslo?' },
        { role: 'assistant', content: '', toolCalls: [call] },
      ],
      tools: [weather],
    };
    const plugins = await loadPlugins(
      pluginFile(
        `export const graders = { closeEnough: (text, { target }) =>
           ({ value: Number(text === target && JSON.parse(target).arguments.city === 'Oslo'), answer: text }) };`,
      ),
    );

    const [score] = await evaluateCell(dependenciesOf(sampler, { rows: [row], plugins }), {
      ...workOf({ name: 'sums' }),
      evaluator: custom({ maxTokens: 100 }),
    });

    expect(score?.value).toBe(1);
    expect(tokenizer.decode(requests[0]?.prompt ?? [])).toContain('<|system|>weather{');
  });

  test('that changed since is not told as the one that scored, where somebody asks by name', async () => {
    const { sampler } = modelThatSays(sumIn);
    const work = { ...workOf({ name: 'sums' }), evaluator: custom() };
    const graded = async (value: number, changes: object = {}) => {
      const plugins = await loadPlugins(
        pluginFile(`export const graders = { closeEnough: () => ${value} };`),
      );
      const cell = { ...work, ...changes };
      return evaluateCell(dependenciesOf(sampler, { rows: SUMS, plugins }), cell);
    };
    await graded(1);
    const byName = { isAskedByName: true };

    const [same] = await graded(1, byName);
    const other = await graded(0, byName).catch((error: unknown) => error);
    const otherWeights = graded(1, { ...byName, model: { name: 'm', path: 'tinker://other/1' } });

    expect(same).toMatchObject({ value: 1 });
    expect(other).toMatchObject({ code: 'refused' });
    expect(String(other)).toContain('with another evaluator, data, plug-in file, grader or judge');
    await expect(otherWeights).rejects.toThrow('of other weights');
    // In a training run it is what was measured then.
    expect(await graded(0)).toEqual([same]);
  });

  test.each(['NaN', '2', '-1', '"text"', 'undefined', 'null'])(
    'that returns %s is an error, not a score',
    async (value) => {
      const { sampler } = modelThatSays(sumIn);
      const plugins = await loadPlugins(
        pluginFile(`export const graders = { closeEnough: () => ${value} };`),
      );

      const evaluated = evaluateCell(dependenciesOf(sampler, { rows: SUMS.slice(0, 1), plugins }), {
        ...workOf({ name: 'sums' }),
        evaluator: custom(),
      });

      await expect(evaluated).rejects.toThrow('a score must be a number from 0 to 1');
    },
  );

  test('counts examples that occur twice', async () => {
    const { sampler } = modelThatSays(sumIn);
    const rows = [...SUMS, ...SUMS.slice(0, 1)];

    const [score] = await evaluateCell(
      dependenciesOf(sampler, { rows, plugins: await loadPlugins(EXAMPLE) }),
      {
        ...workOf({ name: 'sums' }),
        evaluator: custom({ systemPrompt: 'Add.' }),
      },
    );

    expect(score?.n).toBe(5);
  });
});

describe('an evaluator', () => {
  test('asks the model and returns its metrics', async () => {
    const { sampler } = modelThatSays(sumIn);
    const evaluator = plugin({ options: { questions: ['1+1=', '50+50='] } });

    const scores = await evaluateCell(dependenciesOf(sampler, { plugins: await loadPlugins(EXAMPLE) }), {
      ...workOf({ name: 'habits' }),
      evaluator,
    });

    expect(scores).toEqual([
      {
        metric: 'characters',
        key: 'test/habits/characters',
        value: 2,
        stderr: null,
        n: 1,
        higherIsBetter: null,
      },
    ]);
  });

  test('repeats no call after a failure, and keeps equal calls apart', async () => {
    const source = `
      let attempts = 0;
      export const evaluators = { twice: { name: 'twice', kind: 'sampling', async evaluate(client) {
        const first = await client.complete([{ role: 'user', content: '1+1=' }], { temperature: 1 });
        const second = await client.complete([{ role: 'user', content: '1+1=' }], { temperature: 1 });
        if (++attempts === 1) throw new Error('died');
        return { first: Number(first.text), 'own/second': Number(second.text) };
      } } };`;
    const plugins = await loadPlugins(pluginFile(source));
    let count = 0;
    const { sampler, asked } = modelThatSays(() => String(++count));
    const work = workOf({ name: 'twice' });
    const evaluator = plugin({ evaluator: 'twice' });
    await expect(evaluateCell(dependenciesOf(sampler, { plugins }), { ...work, evaluator })).rejects.toThrow(
      'died',
    );

    const scores = await evaluateCell(dependenciesOf(sampler, { plugins }), { ...work, epoch: 2, evaluator });

    expect(asked).toHaveLength(2);
    expect(scores.map(({ key, value }) => [key, value])).toEqual([
      ['test/twice/first', 1],
      ['own/second', 2],
    ]);
  });

  test.each([
    ['nothing', '({})', 'Evaluator "odd" returned no metric.'],
    ['no number', '({ x: NaN })', 'Evaluator "odd" returned NaN for "x". Return numbers.'],
    ['a list', '[1, 2]', 'Evaluator "odd" returned [ 1, 2 ]. Return an object of numbers by name.'],
    ['an empty name', '({ "": 1 })', 'Evaluator "odd": a name is empty.'],
    ['a name of two lines', '({ "a\\nb": 1 })', 'Evaluator "odd": the name "a\\nb" has line breaks or'],
    [
      'a metric for each example',
      'Object.fromEntries(Array.from({ length: 20000 }, (_, index) => ["k" + index, 1]))',
      'Evaluator "odd": 20000 metrics are more than 1000; what is told of single examples belongs into logs.',
    ],
  ])('that returns %s is refused', async (_, returned, message) => {
    const plugins = await loadPlugins(
      pluginFile(
        `export const evaluators = { odd: { name: "odd", kind: "sampling", evaluate: async () => ${returned} } };`,
      ),
    );

    const evaluated = evaluateCell(dependenciesOf(modelThatSays(sumIn).sampler, { plugins }), {
      ...workOf({ name: 'odd' }),
      evaluator: plugin({ evaluator: 'odd' }),
    });

    await expect(evaluated).rejects.toThrow(message);
  });
});
