import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReinforcementConfig } from '../../../../src/config/reinforcement-config';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { prepareEnvironments } from '../../../../src/training/reinforcement/prepare-environments';
import { tokenizer } from '../rollouts/scripted-policy';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-prepare-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, rows: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
  return path;
}

function search(): object {
  return {
    type: 'search',
    corpus: write('corpus.jsonl', [{ title: 'Brusk', text: 'Brusk is a harbour.' }]),
    questions: write('questions.jsonl', [{ question: 'What is Brusk?', answer: 'a harbour' }]),
    testSize: 0,
  };
}

function prepare(environment: object, renderer: string, environments = new Map<string, unknown>()) {
  const config = ReinforcementConfig.parse({ kind: 'rl', model: 'everstep/tiny', environment });
  const access = {
    readBenchmarkRows: () => () => Promise.reject(new Error('no benchmark is read here')),
    loadPlugins: () => Promise.resolve({ ...NO_PLUGINS, file: 'everstep.config.js', environments }),
    tokenizerOf: () => Promise.resolve(tokenizer),
  };
  return prepareEnvironments(access, config, { renderer });
}

test('refuses tools that the prompt format cannot declare, with the remedy', async () => {
  const refused = prepare(search(), 'role_colon');

  await expect(refused).rejects.toThrow(
    /^environment: search gives the model tools \(search\)\. Renderer "role_colon" has no tools\. Use /,
  );
});

test('refuses them in a mixture, wherever they stand', async () => {
  const parts = [
    { name: 'sums', weight: 1, environment: { type: 'arithmetic' } },
    { name: 'looked-up', weight: 1, environment: search() },
  ];

  await expect(prepare({ type: 'mixture', parts }, 'role_colon')).rejects.toMatchObject({
    code: 'bad-config',
  });
});

test('takes them where the format has tools, and environments without any everywhere', async () => {
  expect(await prepare(search(), 'qwen3')).toMatchObject({ data: { trainCount: 1 } });
  expect(await prepare({ type: 'arithmetic' }, 'everstep')).toMatchObject({ data: { source: 'arithmetic' } });
});

test('rows without an answer to judge by are counted and told', async () => {
  const rows = ['7', 'proof', 'notfound'].map((answer) => ({ problem: `Why ${answer}?`, answer }));
  const path = write('math.jsonl', rows);

  expect(await prepare({ type: 'math', path, testSize: 0 }, 'everstep')).toMatchObject({
    data: { trainCount: 1, skippedCount: 2 },
    remarks: [
      `environment: 2 rows are left out, the first, ${path} line 2, because it has no answer to judge by (a proof, or a solution that boxes none).`,
    ],
  });
});

/** What a plug-in's environment declares is known when it is opened. */
function pluginThat(open: () => object, closed: string[] = []): Map<string, unknown> {
  const make = (problem: number) => ({
    initialObservation: () => ({ messages: [{ role: 'user', content: `${problem}` }], ...open() }),
    step: () => ({ reward: 0, isDone: true, nextMessages: [] }),
    close: () => closed.push('closed'),
  });
  return new Map([['own', { problems: [1, 2, 3], make }]]);
}

describe('tools of a plug-in', () => {
  const own = { type: 'plugin', environment: 'own', testSize: 0 };
  const tool = { name: 'look_up', description: 'Looks up', parameters: { type: 'object', properties: {} } };

  test('are refused where the prompt format has none, by the environment that declares them', async () => {
    const closed: string[] = [];
    const refused = prepare(
      own,
      'role_colon',
      pluginThat(() => ({ tools: [tool] }), closed),
    );

    await expect(refused).rejects.toThrow(
      /own gives the model tools \(look_up\)\. Renderer "role_colon" has no/,
    );
    expect(closed).toEqual(['closed']);
  });

  test('are not asked for where the format has them', async () => {
    const opened = pluginThat(() => {
      throw new Error('opened');
    });

    expect(await prepare(own, 'qwen3', opened)).toMatchObject({ data: { trainCount: 3 } });
  });

  test('say nothing where there are none, or where opening fails, which costs its rollout', async () => {
    const broken = pluginThat(() => {
      throw new Error('no simulator');
    });

    expect(
      await prepare(
        own,
        'role_colon',
        pluginThat(() => ({})),
      ),
    ).toMatchObject({ data: { trainCount: 3 } });
    expect(await prepare(own, 'role_colon', broken)).toMatchObject({ data: { trainCount: 3 } });
  });
});
