import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { deleteOneRun } from '../../../src/cli/commands/runs-delete';
import { deleteRun, planRunDeletion } from '../../../src/client/delete-run';
import { Everstep } from '../../../src/client/everstep';
import type { ServerLink } from '../../../src/client/server-link';
import { startRun } from '../../../src/client/start-run';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import { createRunStore } from '../../../src/stores/run-store';
import { recordOutput } from '../cli/recording-output';
import { FakeServer, SERVER_AWAY, STATE } from './fake-server';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'everstep-delete-'));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const CONFIG = { kind: 'sft', model: 'everstep/tiny', dataset: { path: 'x.jsonl' }, steps: 1 };
const STATE_PATH = 'tinker://model/weights/000040';

async function store(run: string, config: object = CONFIG, status: 'completed' | 'running' = 'completed') {
  const records = createRunStore(root);
  await records.claim(run, { workflowId: `train/${run}`, firstRunId: 'first' });
  const closedAt = status === 'completed' ? '2026-01-01T00:10:00.000Z' : null;
  await records.writeState(run, { ...STATE, run, workflowId: `train/${run}`, status, closedAt });
  await records.writeConfig(run, { config });
  const row = { name: '000040', step: 40, state_path: STATE_PATH, sampler_path: null };
  await appendFile(
    path.join(records.runFolder(run), 'checkpoints.jsonl'),
    `${JSON.stringify({ ...row, state_path: `${STATE_PATH}-${run}` })}\n`,
  );
}

const sourcesOn = (link: ServerLink = SERVER_AWAY, models: { name: string; model: string }[] = []) => ({
  link,
  records: createRunStore(root),
  store: root,
  scheduledModels: async () => models,
});

const folderOf = (run: string) => path.join(root, 'runs', run);

test('results that are a link to themselves keep no run from being deleted', async () => {
  await store('one');
  await mkdir(path.join(root, 'evals'));
  await symlink('loop', path.join(root, 'evals', 'loop'));

  await deleteRun(sourcesOn(), 'one');

  expect(existsSync(folderOf('one'))).toBe(false);
});

test('a dry run says what would go and touches nothing', async () => {
  await store('one');
  const bytes = (await readdir(folderOf('one'))).reduce(
    (sum, name) => sum + readFileSync(path.join(folderOf('one'), name)).length,
    0,
  );

  const plan = await planRunDeletion(sourcesOn(), 'one');

  expect(plan).toEqual({
    ...{ run: 'one', folder: folderOf('one'), bytes, files: 4, heldBy: [] },
    remarks: [expect.stringContaining('1 checkpoints stay at the training service until they expire there')],
  });
  expect(existsSync(folderOf('one'))).toBe(true);
});

test('the command deletes with --yes alone', async () => {
  await store('one');
  const everstep = await Everstep.connect({ store: root, temporal: null });
  const shown = recordOutput({ json: false });
  const document = recordOutput({ json: true });

  await deleteOneRun('one', { everstep, output: shown.output }, {});
  await deleteOneRun('one', { everstep, output: shown.output }, { yes: true, dryRun: true });
  expect(existsSync(folderOf('one'))).toBe(true);
  await deleteOneRun('one', { everstep, output: document.output }, { yes: true });

  expect(shown.stdout()).toContain('Would delete one:');
  expect(shown.stdout()).toContain('runs delete one --yes');
  expect(JSON.parse(document.stdout())).toMatchObject({ run: 'one', deleted: true });
  expect(await readdir(path.join(root, 'runs'))).toEqual([]);
  await everstep.close();
});

test.each<[string, () => Promise<Parameters<typeof planRunDeletion>[0]>, RegExp]>([
  [
    'that has not ended',
    async () => {
      await store('one', CONFIG, 'running');
      return sourcesOn();
    },
    /has not ended \(running\).*runs cancel one/,
  ],
  [
    'that another run began from',
    async () => {
      await store('one');
      await store('two', { ...CONFIG, initialCheckpoint: 'one@40' });
      return sourcesOn();
    },
    /run two refers to it \(config\.initialCheckpoint\)/,
  ],
  [
    'that another run began from by the address of its checkpoint',
    async () => {
      await store('one');
      await store('two', { ...CONFIG, initialCheckpoint: `${STATE_PATH}-one` });
      return sourcesOn();
    },
    /run two refers to it/,
  ],
  [
    'whose newest checkpoint is a baseline elsewhere',
    async () => {
      await store('one');
      await store('two', {
        ...CONFIG,
        evaluators: [{ type: 'comparison', baseline: { checkpoint: 'one' } }],
      });
      return sourcesOn();
    },
    /run two refers to it \(config\.evaluators\.0\.baseline\.checkpoint\)/,
  ],
  [
    'that was evaluated',
    async () => {
      await store('one');
      await mkdir(path.join(root, 'evals', 'scores'), { recursive: true });
      await writeFile(
        path.join(root, 'evals', 'scores', 'metadata.json'),
        JSON.stringify({ checkpoint_name: 'one@40' }),
      );
      return sourcesOn();
    },
    /results scores are of it.*results delete scores/,
  ],
  [
    'that a schedule asks',
    async () => {
      await store('one');
      return sourcesOn(SERVER_AWAY, [{ name: 'nightly', model: 'one@best' }]);
    },
    /schedule nightly asks it/,
  ],
  [
    'that is evaluated now',
    async () => {
      await store('one');
      return sourcesOn(new FakeServer({ 'eval/one/40': { status: 'RUNNING' } }).link);
    },
    /eval\/one\/40 goes on/,
  ],
])('a run %s is kept', async (_, arrange, reason) => {
  const sources = await arrange();

  const { heldBy } = await planRunDeletion(sources, 'one');

  expect(heldBy).toEqual([expect.stringMatching(reason)]);
  await expect(deleteRun(sources, 'one')).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(reason) as string,
  });
  expect(existsSync(path.join(folderOf('one'), 'state.json'))).toBe(true);
});

test('runs with a name that begins alike, or nothing to do with it, do not hold it', async () => {
  await store('one');
  await store('one-more', { ...CONFIG, initialCheckpoint: 'one-more@40', note: 'one' });

  expect((await planRunDeletion(sourcesOn(), 'one')).heldBy).toEqual([]);
  await expect(planRunDeletion(sourcesOn(), 'gone')).rejects.toThrow('Unknown run "gone"');
});

test('no link is followed', async () => {
  await store('one');
  const outside = await mkdtemp(path.join(os.tmpdir(), 'everstep-outside-'));
  await writeFile(path.join(outside, 'kept'), 'x');
  await symlink(outside, path.join(folderOf('one'), 'link'));

  await deleteRun(sourcesOn(), 'one');

  expect(existsSync(folderOf('one'))).toBe(false);
  expect(existsSync(path.join(outside, 'kept'))).toBe(true);

  await store('two');
  await rm(outside, { recursive: true });
  await rename(path.join(root, 'runs'), outside);
  await symlink(outside, path.join(root, 'runs'));
  await expect(deleteRun(sourcesOn(), 'two')).rejects.toThrow('nothing is deleted through it');
  expect(existsSync(path.join(outside, 'two', 'state.json'))).toBe(true);
  await rm(outside, { recursive: true });
});

test('nothing is noted through a link in the place of the notes, and the run stays', async () => {
  await store('one');
  const state_path = 'tinker://11111111-1111-4111-8111-111111111111:train:0/weights/000041';
  const row = { name: '000041', step: 41, state_path, sampler_path: null };
  await appendFile(path.join(folderOf('one'), 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);
  const outside = await mkdtemp(path.join(os.tmpdir(), 'everstep-outside-'));
  await symlink(outside, path.join(root, 'deleted'));

  await expect(deleteRun(sourcesOn(), 'one')).rejects.toThrow(/deleted is a link: nothing is noted in it/);

  expect(await readdir(outside)).toEqual([]);
  expect(existsSync(folderOf('one'))).toBe(true);
  await rm(path.join(root, 'deleted'));
  await deleteRun(sourcesOn(), 'one');
  expect(await readdir(path.join(root, 'deleted'))).toHaveLength(1);
  await rm(outside, { recursive: true });
});

test('what a kill left half-way is nobody’s run, and the next deletion removes it', async () => {
  await store('one');
  await store('two');
  await rename(folderOf('two'), path.join(root, 'runs', '.deleted-0'));

  expect((await createRunStore(root).listRuns()).map(({ run }) => run)).toEqual(['one']);
  await deleteRun(sourcesOn(), 'one');

  expect(await readdir(path.join(root, 'runs'))).toEqual([]);
});

test.each(['with the server, which forgets its workflow', 'without the server, whose workflow stays closed'])(
  'the name is free again when it was deleted %s',
  async (how) => {
    await store('one');
    const server = new FakeServer({ 'train/one': { status: 'COMPLETED', memo: { kind: 'sft' } } });
    const config = SupervisedConfig.parse(CONFIG);
    await expect(startRun(sourcesOn(server.link), config, { run: 'one' })).rejects.toThrow('has ended');

    await deleteRun(sourcesOn(how.startsWith('without') ? SERVER_AWAY : server.link), 'one');
    expect(Object.keys(server.workflows)).toEqual(how.startsWith('without') ? ['train/one'] : []);

    expect(await startRun(sourcesOn(server.link), config, { run: 'one' })).toMatchObject({
      isAttached: false,
    });
    expect(server.started).toHaveLength(1);
  },
);
