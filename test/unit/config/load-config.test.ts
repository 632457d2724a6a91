import { readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { loadTrainingConfig } from '../../../src/config/load-config';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import { DomainError } from '../../../src/core/errors';

const MINIMAL = { kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } };

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-config-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function write(name: string, text: string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, text);
  return file;
}

async function refusal(attempt: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof attempt === 'function' ? attempt() : attempt);
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject({ code: 'bad-config' });
    return (error as Error).message;
  }
  throw new Error('the config was accepted');
}

describe('a config that is complete', () => {
  const configs = path.join(__dirname, '..', '..', '..', 'configs');

  test.each(readdirSync(configs).filter((name) => name.endsWith('.yaml')))(
    'is the same when it is read again: %s',
    async (name) => {
      const config = await loadTrainingConfig({ file: path.join(configs, name) });

      expect(parseTrainingConfig(structuredClone(config))).toEqual(config);
    },
  );
});

describe('reading', () => {
  test('reads YAML, JSON and TypeScript alike and fills in the defaults', async () => {
    const yaml = await write('a.yaml', 'kind: sft\nmodel: everstep/tiny\ndataset: {path: train.jsonl}\n');
    const json = await write('a.json', JSON.stringify({ $schema: './sft.json', ...MINIMAL }));
    const typescript = await write(
      'a.ts',
      `const model: string = 'everstep/tiny';\nexport default { ...${JSON.stringify(MINIMAL)}, model };\n`,
    );

    const [fromYaml, fromJson, fromTypescript] = await Promise.all(
      [yaml, json, typescript].map((file) => loadTrainingConfig({ file })),
    );

    expect(fromYaml).toMatchObject({
      batchSize: 128,
      saveEvery: 20,
      loraRank: 32,
      lrSchedule: { type: 'linear' },
    });
    expect(fromJson).toEqual(fromYaml);
    expect(fromTypescript).toEqual(fromYaml);
  });

  test('takes relative paths from the folder of the config file, wherever a dataset stands', async () => {
    const file = await write(
      'a.json',
      JSON.stringify({
        ...MINIMAL,
        dataset: { path: ['a.jsonl', '/b.jsonl'], testPath: '../c.jsonl' },
        plugins: './plugins.ts',
        schedules: [{ name: 's', at: [1], evaluators: [{ type: 'nll', dataset: { path: '~/d.jsonl' } }] }],
      }),
    );

    const config = await loadTrainingConfig({ file });

    expect(config).toMatchObject({
      dataset: {
        path: [path.join(folder, 'a.jsonl'), '/b.jsonl'],
        testPath: path.join(path.dirname(folder), 'c.jsonl'),
      },
    });
    expect(config.plugins).toBe(path.join(folder, 'plugins.ts'));
    expect(config.schedules?.[0]?.evaluators[0]).toMatchObject({
      dataset: { path: path.join(os.homedir(), 'd.jsonl') },
    });
  });

  test('takes paths of the parts of a mixture so, and those of --set from the current folder', async () => {
    const environment = { type: 'mixture', parts: [{ environment: { type: 'code', path: 'a.jsonl' } }] };
    const file = await write('mixture.json', JSON.stringify({ kind: 'rl', model: 'm', environment }));

    expect(await loadTrainingConfig({ file })).toMatchObject({
      environment: { parts: [{ environment: { path: path.join(folder, 'a.jsonl') } }] },
    });
    const overrides = ['environment.parts.0.environment.path=b.jsonl'];
    expect(await loadTrainingConfig({ file, overrides })).toMatchObject({
      environment: { parts: [{ environment: { path: path.resolve('b.jsonl') } }] },
    });
  });

  test.each([
    ['./tiny', 'tiny'],
    ['../tiny', '../tiny'],
    ['owner/tiny', null],
    ['/tiny', null],
  ])('takes the model %s for a folder only where it begins like a path', async (model, place) => {
    const file = await write('a.json', JSON.stringify({ ...MINIMAL, model }));

    const config = await loadTrainingConfig({ file });

    expect(config.model).toBe(place === null ? model : path.join(folder, place));
  });

  test('names the file that is not there', async () => {
    expect(await refusal(loadTrainingConfig({ file: path.join(folder, 'nope.yaml') }))).toBe(
      `${folder}/nope.yaml cannot be read (no such file). Give the path of a config file.`,
    );
  });

  test('names the line of unreadable YAML', async () => {
    const file = await write('a.yaml', 'kind: sft\nmodel: everstep/tiny\ndataset: {path: train.jsonl\n');

    expect(await refusal(loadTrainingConfig({ file }))).toMatch(
      /^\/.+\/a\.yaml, line \d+: .+ Correct the YAML or JSON there\.$/,
    );
  });

  test('refuses a second document, by its line', async () => {
    const file = await write('a.yaml', 'kind: sft\nmodel: everstep/tiny\n---\nkind: rl\n');

    expect(await refusal(loadTrainingConfig({ file }))).toBe(
      `${file}, line 3: a second YAML document begins, and a file holds one config. Put it into a file of its own, or take the line --- away.`,
    );
  });

  test.each([
    [
      'for too much',
      `${Array.from(
        { length: 12 },
        (_, i) =>
          `x${i}: &a${i} [${
            i === 0
              ? '1'
              : Array(9)
                  .fill(`*a${i - 1}`)
                  .join(', ')
          }]`,
      ).join('\n')}\n`,
    ],
    ['for themselves', 'kind: sft\nadam: &adam {beta1: *adam}\n'],
  ])('refuses aliases that stand %s', async (_what, text) => {
    const file = await write('a.yaml', text);

    expect(await refusal(loadTrainingConfig({ file }))).toMatch(
      /^\/.+\/a\.yaml: its aliases \(\*name\) stand for too much, or for themselves\. Write out/,
    );
  });

  test.each([
    ['a list without end', '['.repeat(20_000)],
    ['a list in lists', `a: ${'['.repeat(2000)}${']'.repeat(2000)}`],
    ['mappings in mappings', '{a: '.repeat(2000)],
    ['lists of blocks', '- '.repeat(2000)],
  ])('refuses %s that is nested too deep', async (_what, text) => {
    const file = await write('a.yaml', `kind: sft\n${text}`);

    expect(await refusal(loadTrainingConfig({ file }))).toBe(
      `${file}, line 2: lists and mappings are nested too deep. Write a config of fewer levels.`,
    );
  });

  test('says why a module cannot be loaded', async () => {
    const file = await write('a.ts', `throw new Error('no luck');`);

    expect(await refusal(loadTrainingConfig({ file }))).toContain('cannot be loaded: no luck');
  });

  test.each([
    ['', 'holds no config'],
    ['- 1\n', 'holds no config'],
    ['model: x\n', 'kind is missing. Known: sft, rl.'],
    ['kind: sfft\n', 'kind is "sfft". Known: sft, rl.'],
  ])('refuses a file with %j', async (text, expected) => {
    expect(await refusal(loadTrainingConfig({ file: await write('a.yaml', text) }))).toContain(expected);
  });
});

test('a config of another tool, which has no kind, is told all that is wrong with it at once', async () => {
  const trl = 'model: m\nlearning_rate: 1e-4\ndataset: { path: x.jsonl }\n';

  expect(await refusal(loadTrainingConfig({ file: await write('trl.yaml', trl) }))).toMatch(
    /has 2 problems:\n {2}- kind is missing\. Known: sft, rl\.\n {2}- .*learningRate/,
  );
});

test.each(['rows.jsonl', 'rows.parquet', 'rows.csv', 'rows.jsonl.gz'])(
  'rows in the place of a config are told apart: %s',
  async (name) => {
    await expect(loadTrainingConfig({ file: `data/${name}` })).rejects.toThrow(
      `data/${name} holds rows, not a config. Write a config`,
    );
  },
);

describe('--set', () => {
  test('writes any key, with values as in YAML', async () => {
    const file = await write('a.json', JSON.stringify({ ...MINIMAL, evaluators: ['arithmetic', 'gsm8k'] }));

    const config = await loadTrainingConfig({
      file,
      overrides: [
        'steps=7',
        'adam.beta1=0.8',
        'ttlSeconds=null',
        'model=other/model',
        'lrSchedule={type: cosine, warmupSteps: 3}',
      ],
    });

    expect(config).toMatchObject({ steps: 7, adam: { beta1: 0.8 }, ttlSeconds: null, model: 'other/model' });
    expect(config.lrSchedule).toEqual({ type: 'cosine', warmupSteps: 3, finalFraction: 0 });
  });

  test('refuses a key that is given twice', async () => {
    const file = await write('a.json', JSON.stringify(MINIMAL));

    expect(await refusal(loadTrainingConfig({ file, overrides: ['steps=3', 'seed=1', 'steps=4'] }))).toBe(
      '--set steps=4: steps is given twice, by --set steps=3 too. Leave one out.',
    );
  });

  test('indexes lists and may add one at the end', async () => {
    const file = await write(
      'a.json',
      JSON.stringify({ ...MINIMAL, evaluators: [{ type: 'benchmark', benchmark: 'x' }] }),
    );

    const config = await loadTrainingConfig({
      file,
      overrides: ['evaluators.0.maxExamples=5', 'evaluators.1=gsm8k'],
    });

    expect(config.evaluators).toEqual([
      { type: 'benchmark', benchmark: 'x', maxExamples: 5, concurrency: 64 },
      { type: 'benchmark', benchmark: 'gsm8k', concurrency: 64 },
    ]);
  });

  test('takes relative paths from the current folder', async () => {
    const file = await write('a.json', JSON.stringify(MINIMAL));

    const config = await loadTrainingConfig({ file, overrides: ['dataset.path=mine.jsonl'] });

    expect(config).toMatchObject({ dataset: { path: path.resolve('mine.jsonl') } });
  });

  test.each([
    ['steps', 'write KEY=VALUE'],
    ['=3', 'write KEY=VALUE'],
    ['__proto__.x=3', 'write KEY=VALUE'],
    ['model.x=3', '"model" is "everstep/tiny" and has no inner keys'],
    ['evaluators.4=x', 'is not a place in a list of 1. Use 0 to 1.'],
    ['evaluators.type=x', '"type" is not a place in a list of 1. Use 0 to 1, of the first "0.type".'],
    ['steps={a: [}', 'is not YAML'],
    ['stepps=3', 'Unknown key "stepps". Did you mean "steps"?'],
  ])('refuses %s', async (override, expected) => {
    const file = await write('a.json', JSON.stringify({ ...MINIMAL, evaluators: ['arithmetic'] }));

    expect(await refusal(loadTrainingConfig({ file, overrides: [override] }))).toContain(expected);
  });
});

function gated(rule: object) {
  return { name: 's', at: [1], evaluators: ['gsm8k'], gate: { metric: 'test/gsm8k/accuracy', rule } };
}

describe('refusals name key, value and remedy', () => {
  const with_ = (more: object) => () => parseTrainingConfig({ ...MINIMAL, ...more }, 'a.yaml');

  test('of two forms at once', async () => {
    const gate = { metric: 'test/a/accuracy', rule: { atMost: null, notWorseThanBest: 0.5 } };
    const evaluators = [{ type: 'benchmark', benchmark: 'arithmetic' }];

    expect(
      await refusal(with_({ schedules: [{ name: 's', every: { steps: 1 }, evaluators, gate }] })),
    ).toContain(
      '"schedules[0].gate.rule.atMost" does not go with what stands beside it. Leave one of them out, with --set by giving "schedules[0].gate.rule" as a whole.',
    );
  });

  test.each([
    ['evalEvry', 'Did you mean "evalEvery"?'],
    ['LearningRate', 'write "learningRate"'],
    ['nonsense', 'Known here: kind, model'],
    ['eval_every', 'write "evalEvery"'],
    ['infrequent_eval_every', 'write "infrequentEvalEvery"'],
    ['evaluator_builders', 'write "evaluators"'],
    ['infrequent_evaluator_builders', 'write "infrequentEvaluators"'],
    ['lora_rank', 'write "loraRank"'],
    ['num_epochs', 'write "epochs"'],
    ['max_steps', 'write "steps"'],
    ['model_name', 'write "model"'],
    ['renderer_name', 'write "renderer"'],
    ['log_path', '--run NAME'],
    ['load_checkpoint_path', 'write "initialCheckpoint"'],
    ['lr_schedule', 'write "lrSchedule"'],
    ['batch_size', 'write "batchSize"'],
    ['learning_rate', 'write "learningRate"'],
    ['ttl_seconds', 'write "ttlSeconds"'],
    ['submit_ahead', 'write "submitAhead"'],
    ['save_every', 'write "saveEvery"'],
    ['rolling_save_every', 'write "rollingSaveEvery"'],
    ['adam_beta1', 'write "adam.beta1"'],
    ['base_url', 'write "engine.url"'],
    ['dataset_builder', 'write "dataset"'],
    ['constructor', 'Unknown key "constructor"'],
  ])('answers %s', async (key, expected) => {
    const message = await refusal(with_({ [key]: 3 }));

    expect(message).toContain(`a.yaml: Unknown key "${key}"`);
    expect(message).toContain(expected);
    expect(message).not.toContain('\n');
  });

  test.each([
    [{ engine: { baseUrl: 'http://e' } }, '"engine.baseUrl": write "engine.url".'],
    [{ engine: { base_url: 'http://e' } }, '"engine.base_url": write "engine.url".'],
    [{ dataset: { file_path: 'a' } }, '"dataset.file_path": write "dataset.path".'],
    [{ dataset: { base_url: 'a' } }, '"dataset.base_url": write "engine.url".'],
    [{ adam: { adam_beta1: 0.9 } }, '"adam.adam_beta1": write "adam.beta1".'],
    [{ adam: { weight_decay: 0.1 } }, '"adam.weight_decay": write "adam.weightDecay".'],
    [
      { evaluators: [{ type: 'nll', dataset: { file_path: 'a' } }] },
      '"evaluators[0].dataset.file_path": write "evaluators[0].dataset.path".',
    ],
  ])('answers a spelling inside what it names: %j', async (change, expected) => {
    expect(await refusal(with_(change))).toContain(expected);
  });

  test('a key with control characters is told without them', async () => {
    expect(await refusal(with_({ '\u001b[31mkey': 1 }))).toContain('Unknown key "\\x1b[31mkey"');
  });

  test.each([
    [{ model: undefined }, 'a.yaml: model is missing. Give a text.'],
    [{ batchSize: 0 }, 'a.yaml: batchSize is 0. Give a number of at least 1.'],
    [{ learningRate: Number.NaN }, 'a.yaml: learningRate is NaN. Give a number.'],
    [{ batchSize: 1.5 }, 'a.yaml: batchSize is 1.5. Give a whole number.'],
    [{ learningRate: 0 }, 'a.yaml: learningRate is 0. Give a number above 0.'],
    [{ learningRate: '1e-4' }, 'a.yaml: learningRate is "1e-4". Give a number.'],
    [{ loraRank: 5000 }, 'a.yaml: loraRank is 5000. Give a number of at most 1024.'],
    [
      { trainOnWhat: 'all' },
      'a.yaml: trainOnWhat is "all". Use one of lastAssistantMessage, lastAssistantTurn,',
    ],
    [{ lrSchedule: 'cos' }, 'a.yaml: lrSchedule.type is "cos". Use one of constant, linear, cosine.'],
    [
      { lrSchedule: { type: 'cosine', warmup_steps: 3 } },
      'a.yaml: Unknown key "lrSchedule.warmup_steps": write "lrSchedule.warmupSteps".',
    ],
    [{ adam: { beta_1: 3 } }, 'a.yaml: Unknown key "adam.beta_1": write "adam.beta1".'],
    [{ dataset: {} }, 'a.yaml: dataset: give "path" or "hub" or "python".'],
    [
      { dataset: { path: 'x', testPath: 'y', testSize: 3 } },
      'a.yaml: dataset.testSize: held-out rows come from "testPath", so none would be split off. Leave one of the two out.',
    ],
    [{ dataset: { hub: 'nope' } }, 'a.yaml: dataset.hub is "nope". It must be owner/name.'],
    [
      { dataset: { path: 'x', splitt: 'train' } },
      'a.yaml: Unknown key "dataset.splitt". Did you mean "dataset.split"?',
    ],
    [
      { evaluators: [{ type: 'bench' }] },
      'a.yaml: evaluators[0].type is "bench". Use one of nll, benchmark, custom, modelGraded, comparison, plugin, python, kind, inspect, rlTestSet.',
    ],
    [
      { evaluators: [{ type: 'benchmark', benchmark: 'x', max_examples: 3 }] },
      'a.yaml: Unknown key "evaluators[0].max_examples": write "evaluators[0].maxExamples".',
    ],
    [{ engine: { url: 'here' } }, 'a.yaml: engine.url is "here". Give a URL such as http://127.0.0.1:8000.'],
    [
      { schedules: [{ name: 's', every: { step: 3 }, evaluators: ['x'] }] },
      'a.yaml: schedules[0].every is {"step":3}. Give exactly one of steps, tokens, seconds.',
    ],
    [
      { schedules: [{ name: 's', at: [1], evaluators: [] }] },
      'a.yaml: schedules[0].evaluators is []. Give at least 1 of them.',
    ],
    [
      { schedules: [{ name: 's', at: [1], every: { steps: 1 }, evaluators: ['x'] }] },
      'a.yaml: schedules[0]: give "every" or "at", not both.',
    ],
    [
      { evalEvery: 3, evaluators: ['x'], schedules: [{ name: 's', at: [1], evaluators: ['x'] }] },
      'a.yaml: "schedules" and "evalEvery", "evaluators" are two forms of the same thing. Keep one of them.',
    ],
  ])('%j', async (more, expected) => {
    expect(await refusal(with_(more))).toContain(expected);
  });

  test.each([
    [
      { lrSchedule: { warmupSteps: 3 } },
      'a.yaml: lrSchedule.type is missing. Use one of constant, linear, cosine.',
    ],
    [
      { evaluators: [{ type: 'benchmark', benchmark: 'x', startDate: 'foo' }] },
      'a.yaml: evaluators[0].startDate is "foo". Give a day such as 2026-01-31.',
    ],
    [
      { schedules: [gated({ atLeast: '0.5' })] },
      'a.yaml: schedules[0].gate.rule.atLeast is "0.5". Give a number.',
    ],
    [
      { schedules: [gated({})] },
      'a.yaml: schedules[0].gate.rule is {}. Give exactly one of atLeast, atMost, notWorseThanBest, improvesOnBase.',
    ],
    [
      { schedules: [gated({ atLeast: 1, atMost: 2 })] },
      'a.yaml: schedules[0].gate.rule is {"atLeast":1,"atMost":2}. Give exactly one of atLeast, atMost, notWorseThanBest, improvesOnBase.',
    ],
    [{ steps: 1e30 }, 'a.yaml: steps is 1e+30. Give a number of at most 10000000.'],
    [{ steps: -1e30 }, 'a.yaml: steps is -1e+30. Give a number of at least 1.'],
  ])('%j: one problem, and what is meant', async (more, expected) => {
    expect(await refusal(() => parseTrainingConfig({ ...MINIMAL, ...more }, 'a.yaml'))).toBe(expected);
  });

  test('reports everything wrong at once', async () => {
    expect(await refusal(with_({ batchSize: 0, eval_every: 3 }))).toBe(
      'a.yaml has 2 problems:\n  - batchSize is 0. Give a number of at least 1.\n  - Unknown key "eval_every": write "evalEvery".',
    );
  });

  test('accepts one evaluator on two schedules', () => {
    expect(
      parseTrainingConfig({ ...MINIMAL, evaluators: ['x'], infrequentEvaluators: ['x'] }).evaluators,
    ).toHaveLength(1);
  });
});

describe('keys and passwords stay out of a config', () => {
  test.each([
    [{ engine: { apiKey: 'very-private' } }, '"engine.apiKey"', 'TINKER_API_KEY'],
    [{ openai_api_key: 'very-private' }, '"openai_api_key"', 'OPENAI_API_KEY'],
    [{ dataset: { hub: 'a/b', token: 'very-private' } }, '"dataset.token"', 'TINKER_API_KEY'],
    [{ hf_token: 'very-private' }, '"hf_token"', 'HF_TOKEN'],
    [{ engine: { url: 'https://user:very-private@host/' } }, '"engine.url"', 'TINKER_API_KEY'],
    [{ engine: { url: 'https://host/?api-key=very-private' } }, '"engine.url"', 'TINKER_API_KEY'],
    [{ engine: { tags: ['tml-very-private-indeed'] } }, '"engine.tags.0"', 'TINKER_API_KEY'],
  ])('%j', async (more, place, variable) => {
    const message = await refusal(() => parseTrainingConfig({ ...MINIMAL, ...more }, 'a.yaml'));

    expect(message).toContain(place);
    expect(message).toContain(variable);
    expect(message).not.toContain('very-private');
  });

  test('does not mistake a count of tokens for one', () => {
    const schedules = [
      {
        name: 's',
        every: { tokens: 100 },
        evaluators: [{ type: 'benchmark', benchmark: 'x', maxTokens: 3 }],
      },
    ];

    expect(parseTrainingConfig({ ...MINIMAL, schedules }).schedules).toHaveLength(1);
  });
});

test.each([
  [{ dataset: 'my-data.jsonl' }, 'dataset is "my-data.jsonl"', 'Write { path: my-data.jsonl }.'],
  [{ steps: 'many' }, 'steps is "many"', 'Give a whole number.'],
  [{ learningRate: 'fast' }, 'learningRate is "fast"', 'Give a number.'],
])('a value of another type: %j', async (more, what, remedy) => {
  const message = await refusal(() => parseTrainingConfig({ ...MINIMAL, ...more }));

  expect(message).toMatch(new RegExp(what));
  expect(message).toContain(remedy);
});
