import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findSource } from '../../../src/client/eval-source';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import type { CheckpointRow } from '../../../src/core/run';
import { findStep } from '../../../src/evaluation/judges/find-judge';
import { findWeights } from '../../../src/server/gateway/find-weights';
import { readCheckpointName } from '../../../src/stores/checkpoint-name';
import { locateResults } from '../../../src/stores/eval-places';
import { createRunStore } from '../../../src/stores/run-store';
import { findCheckpointSource } from '../../../src/training/checkpoint-source';
import { resolveInitialCheckpoint } from '../../../src/training/initial-checkpoint';
import { STATE } from '../client/fake-server';

const root = mkdtempSync(join(tmpdir(), 'everstep-checkpoint-name-'));
const store = createRunStore(root);

beforeAll(async () => {
  for (const run of ['one', 'fresh']) {
    await store.claim(run, { workflowId: `train/${run}`, firstRunId: 'first' });
    const engine = { url: 'http://127.0.0.1:8000' };
    await store.writeConfig(run, { run, renderer: 'everstep', config: { model: 'everstep/tiny', engine } });
    await store.writeState(run, { ...STATE, run });
    const checkpoints = await store.openJournal(run, 'checkpoints', { epoch: 1 });
    for (const step of [5, 10, 15]) checkpoints.append(rowOf(step));
    await checkpoints.close();
  }
  const folder = store.runFolder('one');
  writeFileSync(join(folder, 'best.json'), JSON.stringify({ step: 10, sampler_path: 'tinker://m/s/10' }));
  mkdirSync(join(folder, 'evals', '10', 'arithmetic'), { recursive: true });
  writeFileSync(join(folder, 'evals', '10', 'arithmetic', 'result.json'), '{}');
});

afterAll(() => {
  rmSync(root, { recursive: true });
});

function rowOf(step: number): CheckpointRow {
  return {
    ...{ name: String(step), step, batch: step, epoch: 0, final: false, lineage: 0, incarnation: 0 },
    ...{ state_path: `tinker://m/w/${step}`, sampler_path: `tinker://m/s/${step}`, elapsed_tokens: 0 },
  };
}

const initial = (initialCheckpoint: string) =>
  SupervisedConfig.parse({
    ...{ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' }, initialCheckpoint },
  });

test.each<[string, (text: string) => Promise<unknown>, unknown]>([
  [
    'an evaluation, a judge, a schedule',
    (text) => findSource({ checkpoint: text, api: 'chat' }, store),
    { path: 'tinker://m/s/10', label: 'one@10' },
  ],
  [
    'a judge or a baseline within a run',
    (text) => findCheckpointSource(store, text),
    { path: 'tinker://m/s/10', label: 'one@10' },
  ],
  ['the gateway', (text) => findWeights(text, store), { path: 'tinker://m/s/10', label: 'one@10' }],
  [
    'a run that goes on from it',
    async (text) => ({ path: await resolveInitialCheckpoint(store, initial(text)) }),
    { path: 'tinker://m/w/10' },
  ],
  [
    'results and comparisons',
    (text) => locateResults(text, root),
    { folder: join(root, 'runs', 'one', 'evals', '10') },
  ],
])('RUN@best is what was promoted last, for %s', async (_, find, found) => {
  expect(await find('one@best')).toMatchObject(found as object);

  await expect(find('fresh@best')).rejects.toThrow(/npx everstep runs promote fresh@STEP/);
  await expect(find('misspelt@best')).rejects.toThrow(/misspelt/);
  await expect(find('misspelt@best')).rejects.not.toThrow(/runs promote/);
});

test('a name that is none of the three says what to write', async () => {
  expect(await readCheckpointName('one', store)).toEqual({ run: 'one', step: null });
  await expect(readCheckpointName('one@last', store)).rejects.toThrow(
    'one@last: write RUN, RUN@STEP or RUN@best, e.g. one@100.',
  );
});

test('what rewards are made with may not follow promotions', async () => {
  const find = (text: string) => findCheckpointSource(store, text);
  const key = 'environment.judge.checkpoint';

  await expect(findStep('one@best', key, find)).rejects.toThrow(
    /"one@best" has no step.*Give one@10, which it is now/,
  );
  await expect(findStep('fresh@best', key, find)).rejects.toThrow(/"fresh@best" has no step.*Give RUN@STEP/);
});

test('a run that goes on from a checkpoint has the rank that the checkpoint was made with', async () => {
  await store.writeConfig('one', { run: 'one', config: { model: 'everstep/tiny', loraRank: 4 } });
  const asked = (loraRank: number) => resolveInitialCheckpoint(store, { ...initial('one@5'), loraRank });

  expect(await asked(4)).toBe('tinker://m/w/5');
  await expect(asked(0)).rejects.toThrow(
    'loraRank: it is 0, and "one@5" was made with 4, which its weights keep. Set loraRank: 4.',
  );
});

test('rows with steps that RUN@STEP cannot name are no checkpoints', async () => {
  mkdirSync(store.runFolder('foreign'), { recursive: true });
  const rows = [rowOf(4), rowOf(-4), rowOf(1e12), { ...rowOf(5), step: 0.5 }];
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(store.runFolder('foreign'), 'checkpoints.jsonl'), text);

  expect((await store.readCheckpoints('foreign')).map(({ step }) => step)).toEqual([4]);
  await expect(resolveInitialCheckpoint(store, initial('foreign@9'))).rejects.toThrow(
    'Steps of "foreign" that have: 4. Name one of them, as "foreign@4".',
  );
});

test('a step that a run under way has not come to says so', async () => {
  await store.writeState('fresh', { ...STATE, run: 'fresh', step: 16, totalSteps: 40, closedAt: null });

  await expect(resolveInitialCheckpoint(store, initial('fresh@40'))).rejects.toThrow(
    'has no saved state. "fresh" is under way, at step 16 of 40: begin when it has ended. Steps of "fresh" that have: 5, 10, 15.',
  );
});

test.each(['file:///etc/passwd', 'http://127.0.0.1/x', 'HTTPS://a.example/x', 'ftp://x/y'])(
  '%s is no checkpoint: the config says what is',
  (address) => {
    expect(() => initial(address)).toThrow(/Give RUN@STEP, RUN@best or RUN of this store, or the address/);
  },
);

test.each([
  'tinker://../..',
  'tinker://a/../b',
  'tinker://a',
  'tinker:a',
  'tinker://a/b/c/d',
  'tinker://a//b',
])('%s is no address of a checkpoint: the config says how one looks', (address) => {
  expect(() => initial(address)).toThrow(/not the address of a checkpoint, .* tinker:\/\/RUN\/weights\/NAME/);
});

test.each(['tinker://a:train:0/weights/step-000120', 'tinker://a/final', 'tinker://..a/weights/.b'])(
  '%s is one',
  (address) => {
    expect(initial(address).initialCheckpoint).toBe(address);
  },
);
