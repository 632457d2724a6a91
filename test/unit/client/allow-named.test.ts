import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowNamed } from '../../../src/client/allow-named';
import { Everstep } from '../../../src/client/everstep';
import { Allowances } from '../../../src/config/allowances';
import { createRunStore } from '../../../src/stores/run-store';
import { stateOf } from '../server/serving';

let root: string;
let dataFolder: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'everstep-allow-')));
  dataFolder = join(root, 'state');
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function fileAt(name: string): string {
  const file = join(root, name);
  writeFileSync(file, '');
  return file;
}

const mayRun = (file: string) => new Allowances(dataFolder).has({ use: 'code', of: file });
const mayHaveKey = (origin: string) => new Allowances(dataFolder).has({ use: 'key', of: origin });

test.each([
  ['the service of a training config', { engine: { url: 'https://a.example/x' } }],
  [
    'the endpoint of a judge in a config',
    { evaluators: [{ judge: [{ endpoint: 'https://a.example/v1' }] }] },
  ],
  ['the engine of a judge', { environment: { judge: { engine: 'https://a.example' } } }],
  ['an endpoint', { endpoint: 'https://a.example:443/v1' }],
  ['an engine', { engine: 'https://a.example' }],
  ['a judge as it is written', { judge: 'gpt@https://a.example/v1' }],
  ['one of several judges', { judge: ['one', 'gpt@https://a.example/v1'] }],
  [
    'a model of a role of Inspect',
    { benchmarks: ['inspect:x/y?model-role=grader={base_url: "https://a.example"}'] },
  ],
  [
    'a model of a role of an evaluator',
    {
      evaluators: [
        { modelRoles: { grader: '{model: x/y, model_args: {base_url: "https://a.example/v1"}}' } },
      ],
    },
  ],
])('%s gets its key from then on, and nobody else', (_, named) => {
  allowNamed(dataFolder, named);

  expect(mayHaveKey('https://a.example')).toBe(true);
  expect(mayHaveKey('http://a.example')).toBe(false);
  expect(mayHaveKey('https://a.example.b')).toBe(false);
});

test('a webhook gets the values of its headers from then on, and no key', () => {
  allowNamed(dataFolder, { webhook: 'https://a.example/hook' });

  expect(new Allowances(dataFolder).has({ use: 'webhook', of: 'https://a.example' })).toBe(true);
  expect(mayHaveKey('https://a.example')).toBe(false);
});

test.each([
  ['a plug-in file', 'mine.ts', (file: string) => ({ plugins: file })],
  [
    'a task of an evaluator',
    'mine.py',
    (file: string) => ({ evaluators: [{ tasks: [{ task: `${file}@sums` }] }] }),
  ],
  [
    'a task of an evaluator without arguments',
    'mine.py',
    (file: string) => ({ evaluators: [{ tasks: [`${file}@sums`] }] }),
  ],
  [
    'a task that is asked for',
    'mine.py',
    (file: string) => ({ benchmarks: `inspect:${file}@sums?counts=[1,2]` }),
  ],
])('%s may be run from then on, and no other file', (_, name, named) => {
  const file = fileAt(name);

  allowNamed(dataFolder, named(file));

  expect(mayRun(file)).toBe(true);
  expect(mayRun(fileAt('other.ts'))).toBe(false);
});

test('what a store of somebody else names is not allowed by working with it', async () => {
  const store = join(root, 'foreign');
  const theirs = fileAt('theirs.js');
  const records = createRunStore(store);
  mkdirSync(join(store, 'runs', 'one'), { recursive: true });
  await records.writeState('one', stateOf('one', { status: 'completed' }));
  const config = {
    model: 'everstep/tiny',
    engine: { url: 'https://evil.example', tags: [] },
    plugins: theirs,
  };
  await records.writeConfig('one', { run: 'one', config, engineUrl: 'https://evil.example', evaluators: {} });
  const row = { name: 's', step: 1, batch: 1, lineage: 0, state_path: null, sampler_path: 'tinker://a/b' };
  writeFileSync(join(store, 'runs', 'one', 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);
  const everstep = await Everstep.connect({ temporal: null, store, dataFolder });

  // There is no server, so that nothing comes of it but what was allowed before it was asked.
  await expect(everstep.evaluate('arithmetic', { checkpoint: 'one@1' })).rejects.toMatchObject({
    code: 'temporal-unavailable',
  });
  await expect(
    everstep.evaluate('arithmetic', { endpoint: 'https://mine.example/v1', model: 'm' }),
  ).rejects.toMatchObject({ code: 'temporal-unavailable' });

  expect(mayHaveKey('https://mine.example')).toBe(true);
  expect(mayHaveKey('https://evil.example')).toBe(false);
  expect(mayRun(theirs)).toBe(false);
});
