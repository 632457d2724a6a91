import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defaultRunName, nextFreeSuffix } from '../../../src/client/run-names';
import { refuseEnded, resumeRun, startRun } from '../../../src/client/start-run';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import { pluginDigest } from '../../../src/evaluation/plugin-digest';
import type { RunState } from '../../../src/core/run';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import { FakeServer, LIVE, SERVER_AWAY, STATE } from './fake-server';

const CONFIG = parseTrainingConfig({
  kind: 'sft',
  model: 'everstep/tiny',
  dataset: { path: '/train.jsonl' },
});
const ALL_ATTRIBUTES = {
  EverstepKind: 2,
  EverstepRun: 2,
  EverstepModel: 2,
  EverstepStatus: 2,
  EverstepStep: 3,
  EverstepScore: 4,
};

let root = '';
let records: RunStore;
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'everstep-start-'));
  records = createRunStore(root);
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function store(more: Partial<RunState>): Promise<void> {
  const state = { ...STATE, ...more };
  await records.claim(state.run, { workflowId: `train/${state.run}`, firstRunId: 'first' });
  await records.writeState(state.run, state);
}

const running = { status: 'RUNNING' as const, answers: { status: LIVE } };

test('starts the workflow under the name of the run, with config and provenance', async () => {
  const server = new FakeServer();

  const { handle, isAttached } = await startRun({ link: server.link, records }, CONFIG, {
    command: ['everstep', 'train', 'x'],
  });

  expect(handle.name).toBe('sft-tiny-1');
  expect(isAttached).toBe(false);
  expect(server.started).toMatchObject([
    {
      type: 'trainSupervised',
      options: {
        workflowId: 'train/sft-tiny-1',
        taskQueue: 'everstep',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        memo: { kind: 'sft', model: 'everstep/tiny', engine: 'local' },
        args: [
          {
            run: 'sft-tiny-1',
            config: CONFIG,
            useSearchAttributes: false,
            provenance: { command: ['everstep', 'train', 'x'] },
          },
        ],
      },
    },
  ]);
  expect(server.started[0]?.options).not.toHaveProperty('typedSearchAttributes');
});

test('the folder of benchmark data that the command was given goes along with the run', async () => {
  const server = new FakeServer();

  await startRun({ link: server.link, records }, CONFIG, { dataFolder: '/data/mine' });

  expect(server.started).toMatchObject([{ options: { args: [{ dataFolder: '/data/mine' }] } }]);
});

test.each([
  ['knows them', ALL_ATTRIBUTES, false, true],
  ['lets us add them', {}, true, true],
  ['refuses to add the missing ones', { EverstepKind: 2 }, false, false],
])('uses search attributes when the server %s', async (_, known, mayAdd, expected) => {
  const server = new FakeServer();
  server.searchAttributes = { ...known };
  server.mayAddAttributes = mayAdd;

  await startRun({ link: server.link, records }, CONFIG);

  expect(server.started[0]?.options.args[0]).toMatchObject({ useSearchAttributes: expected });
  expect(server.started[0]?.options.typedSearchAttributes !== undefined).toBe(expected);
});

test('default names skip those of the store and those only the server remembers', async () => {
  await store({ run: 'sft-tiny-4', status: 'completed' });
  const server = new FakeServer({ 'train/sft-tiny-5': { status: 'COMPLETED' } });

  const { handle } = await startRun({ link: server.link, records }, CONFIG);

  expect(handle.name).toBe('sft-tiny-6');
});

test('attaches to a run that is under way', async () => {
  await store({});
  const server = new FakeServer({ 'train/one': running });

  expect(await startRun({ link: server.link, records }, CONFIG, { run: 'one' })).toMatchObject({
    isAttached: true,
  });
  expect(server.started).toEqual([]);
});

describe('a run under way that was started with another config', () => {
  const asked = { ...CONFIG, learningRate: 0.5, seed: 7 };

  beforeEach(async () => {
    await store({});
    await records.writeConfig('one', { run: 'one', config: CONFIG });
  });

  test('is refused with what differs, and how to go on', async () => {
    const server = new FakeServer({ 'train/one': running });
    const config = parseTrainingConfig(asked);

    await expect(startRun({ link: server.link, records }, config, { run: 'one' })).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(
        /^Run "one" is under way with another config: learningRate \S+ \(asked: 0\.5\), seed \d \(asked: 7\)\. .* --attach, change what can be changed of that with `everstep runs set one learningRate=0\.5`, or give/,
      ) as string,
    });
    expect(server.started).toEqual([]);
  });

  test('is refused also while it is being prepared, as when two start under one name at once', async () => {
    const sources = { link: new FakeServer().link, records };
    const start = async (seed: number) =>
      startRun(sources, parseTrainingConfig({ ...CONFIG, seed }), { run: 'two' });

    expect(await start(1)).toMatchObject({ isAttached: false });
    await expect(start(2)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(
        /^Run "two" is under way with another config: seed 1 \(asked: 2\)\. Follow it as it is with --attach, or give/,
      ) as string,
    });
    expect(await start(1)).toMatchObject({ isAttached: true });
  });

  test('is followed by whoever asks for that', async () => {
    const server = new FakeServer({ 'train/one': running });
    const options = { run: 'one', attach: true };

    expect(await startRun({ link: server.link, records }, parseTrainingConfig(asked), options)).toMatchObject(
      { isAttached: true },
    );
  });

  test('is the same one where an older release did not know a field yet', async () => {
    const server = new FakeServer({ 'train/one': running });
    const older = { ...CONFIG, seed: undefined };
    await records.writeConfig('one', { run: 'one', config: older });

    expect(await startRun({ link: server.link, records }, CONFIG, { run: 'one' })).toMatchObject({
      isAttached: true,
    });
  });
});

test('a run under way whose training files hold something else by now is refused, unless that is asked for', async () => {
  const file = path.join(root, 'train.jsonl');
  const config = parseTrainingConfig({ ...CONFIG, dataset: { path: file } });
  const rows = '{"prompt": "a", "completion": "b"}\n';
  const contentHash = createHash('sha256').update(rows).digest('hex');
  await store({});
  await records.writeConfig('one', { run: 'one', config, data: { contentHash } });
  const sources = { link: new FakeServer({ 'train/one': running }).link, records };

  // Without the files, as on another machine than the run was started from.
  expect(await startRun(sources, config, { run: 'one' })).toMatchObject({ isAttached: true });
  await writeFile(file, rows);
  expect(await startRun(sources, config, { run: 'one' })).toMatchObject({ isAttached: true });
  await writeFile(file, rows + rows);
  await expect(startRun(sources, config, { run: 'one' })).rejects.toThrow(
    `Run "one" is under way with what ${file} held when it was prepared (sha256 ${contentHash.slice(0, 12)}…)`,
  );
  expect(await startRun(sources, config, { run: 'one', attach: true })).toMatchObject({ isAttached: true });
});

test('refuses a plug-in file that is not what the run under way was prepared with', async () => {
  const file = path.join(root, 'everstep.config.js');
  await writeFile(file, 'module.exports = {};');
  const environment = { type: 'plugin', environment: 'mine' };
  const config = parseTrainingConfig({ kind: 'rl', model: 'everstep/tiny', environment, plugins: file });
  await store({ status: 'running', run: 'one', kind: 'rl' });
  const code = { file, hash: pluginDigest(file) };
  await records.writeConfig('one', { run: 'one', config, code });
  const sources = { link: new FakeServer({ 'train/one': running }).link, records };

  expect(await startRun(sources, config, { run: 'one' })).toMatchObject({ isAttached: true });
  await writeFile(file, 'module.exports = { environments: {} };');

  await expect(startRun(sources, config, { run: 'one' })).rejects.toThrow(
    `Run "one" is under way with ${file} as it was when it was prepared (sha256 ${code.hash.slice(0, 12)}…)`,
  );
  expect(await startRun(sources, config, { run: 'one', attach: true })).toMatchObject({ isAttached: true });
});

test('attaches to a run that waits for a worker', async () => {
  await store({});
  const server = new FakeServer({ 'train/one': { status: 'RUNNING' } });

  expect(await startRun({ link: server.link, records }, CONFIG, { run: 'one' })).toMatchObject({
    isAttached: true,
  });
});

test('goes on with a run without its config, also while it is being prepared', async () => {
  const memo = { kind: 'sft', model: 'm', engine: 'local' };
  const server = new FakeServer({ 'train/one': { ...running, memo } });

  expect(await resumeRun({ link: server.link, records }, 'one')).toMatchObject({ isAttached: true });
  await expect(resumeRun({ link: server.link, records }, 'two')).rejects.toMatchObject({
    code: 'unknown-run',
  });
});

test('refuses the name of a run that has ended', async () => {
  await store({ status: 'completed', step: 100 });

  await expect(
    startRun({ link: new FakeServer().link, records }, CONFIG, { run: 'one' }),
  ).rejects.toMatchObject({
    code: 'run-exists',
    message:
      'Run "one" has ended (completed at step 100 of 100). Choose another --run NAME, or --force-new (in a program, forceNew: true) to start "one-2" or the next free number.',
  });
});

test('knows without a server that a run has ended', async () => {
  await store({ status: 'completed' });
  await store({ run: 'two' });

  await expect(refuseEnded({ link: SERVER_AWAY, records }, 'one')).rejects.toMatchObject({
    code: 'run-exists',
  });
  await expect(refuseEnded({ link: SERVER_AWAY, records }, 'two')).resolves.toBeUndefined();
});

test('with forceNew takes the next free suffix, whatever became of the run', async () => {
  await store({ status: 'completed' });
  await store({ run: 'one-2', status: 'failed' });

  const { handle } = await startRun({ link: new FakeServer().link, records }, CONFIG, {
    run: 'one',
    forceNew: true,
  });

  expect(handle.name).toBe('one-3');
});

test('refuses a run whose workflow the server does not have, with the remedy', async () => {
  await store({});

  await expect(
    startRun({ link: new FakeServer().link, records }, CONFIG, { run: 'one' }),
  ).rejects.toMatchObject({
    code: 'run-exists',
    message: expect.stringMatching(
      /stands at step 40 of 100 and cannot go on\..*no workflow "train\/one".*Give the --data-dir of its stack/,
    ) as string,
  });
});

test('a run that was refused while it was prepared may be started again under its name', async () => {
  const failure = { message: 'no such model', type: 'unknown-model' };
  const server = new FakeServer({ 'train/one': { status: 'FAILED', failure } });

  const { handle, isAttached } = await startRun({ link: server.link, records }, CONFIG, { run: 'one' });

  expect([handle.name, isAttached]).toEqual(['one', false]);
  expect(server.started[0]?.options.workflowIdReusePolicy).toBe('ALLOW_DUPLICATE');
});

describe('a checkpoint of another run that the config names', () => {
  const from = (checkpoint: string) => ({ ...CONFIG, initialCheckpoint: checkpoint });

  test.each([
    ['before@best', /nobody promoted a checkpoint of run "before"/],
    ['before@7', /"before@7" has no saved state/],
    ['befroe@5', /initialCheckpoint: befroe@5: Unknown run "befroe"\. Did you mean "before"\?/],
  ])('%s is refused before anything is started', async (checkpoint, message) => {
    await store({ run: 'before' });
    const server = new FakeServer();

    for (const options of [{}, { run: 'after' }]) {
      const starting = startRun({ link: server.link, records }, from(checkpoint), options);

      await expect(starting).rejects.toMatchObject({
        code: checkpoint.startsWith('before') ? 'unknown-checkpoint' : 'unknown-run',
        message: expect.stringMatching(message) as string,
      });
    }
    expect(server.started).toEqual([]);
  });

  test('is the weights that a penalty keeps near as well', async () => {
    await store({ run: 'before' });
    const server = new FakeServer();
    const config = parseTrainingConfig({
      ...{ kind: 'rl', model: 'everstep/tiny', environment: { type: 'arithmetic' }, klPenaltyCoef: 0.1 },
      klReference: { checkpoint: 'before@best' },
    });

    await expect(startRun({ link: server.link, records }, config)).rejects.toMatchObject({
      code: 'unknown-checkpoint',
    });
  });

  const judge = (checkpoint: string) => ({
    type: 'modelGraded',
    name: 'tone',
    dataset: { path: 'x.jsonl' },
    judge: { checkpoint },
  });
  const compared = (checkpoint: string) => ({
    ...{ type: 'comparison', name: 'rival', dataset: { path: 'x.jsonl' }, judge: 'm@http://127.0.0.1:9' },
    baseline: { checkpoint },
  });
  const rewarded = (checkpoint: string) => ({
    ...{ kind: 'rl', model: 'everstep/tiny' },
    environment: { type: 'modelGraded', dataset: { path: 'x.jsonl' }, judge: { checkpoint } },
  });

  test.each([
    [
      'a judge',
      { ...CONFIG, evaluators: [judge('before@best')] },
      'unknown-checkpoint',
      /judge of "tone": before@best: nobody promoted/,
    ],
    [
      'a judge of a schedule',
      { ...CONFIG, schedules: [{ name: 's', evaluators: [judge('befroe@best')] }] },
      'unknown-run',
      /judge of "tone": Unknown run "befroe"\. Did you mean "before"\? Known: before\./,
    ],
    [
      'a baseline',
      { ...CONFIG, infrequentEvaluators: [compared('before@7')] },
      'unknown-checkpoint',
      /baseline of "rival": .*"before@7" has no sampler weights/,
    ],
    [
      'a judge of rewards',
      rewarded('before@best'),
      'bad-config',
      /environment\.judge\.checkpoint: "before@best" has no step.*Give RUN@STEP\./,
    ],
  ])('is refused as %s before anything is started', async (_, config, code, message) => {
    await store({ run: 'before' });
    await records.writeConfig('before', { config: CONFIG });
    const server = new FakeServer();

    await expect(
      startRun({ link: server.link, records }, parseTrainingConfig(config), { run: 'after' }),
    ).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
    expect(server.started).toEqual([]);
  });

  test('may judge, or be compared with, where it is to be one of the run itself', async () => {
    await store({ run: 'before' });
    const server = new FakeServer();
    const config = parseTrainingConfig({ ...CONFIG, evaluators: [compared('after@best')] });

    await startRun({ link: server.link, records }, config, { run: 'after' });

    expect(server.started).toHaveLength(1);
  });

  test('is left to the workers where the store has no run at all, and may be theirs alone', async () => {
    const server = new FakeServer();

    await startRun({ link: server.link, records }, from('elsewhere@5'), { run: 'after' });

    expect(server.started).toHaveLength(1);
  });
});

test('a name that could leave the store is refused', async () => {
  await expect(
    startRun({ link: new FakeServer().link, records }, CONFIG, { run: '../x' }),
  ).rejects.toMatchObject({ code: 'bad-config' });
});

describe('names', () => {
  test.each([
    ['sft', 'everstep/tiny', [], 'sft-tiny-1'],
    ['sft', 'Qwen/Qwen3-8B', ['sft-Qwen3-8B-1', 'sft-Qwen3-8B-x'], 'sft-Qwen3-8B-2'],
    ['sft', 'tinker://a/b c', [], 'sft-b-c-1'],
    ['sft', 'x/', [], 'sft-model-1'],
    ['rl', 'everstep/tiny', ['sft-tiny-1'], 'rl-tiny-1'],
  ])('%s of %s', (kind, model, taken, expected) => {
    expect(defaultRunName(kind, model, taken)).toBe(expected);
  });

  test('a suffix fills the first gap', () => {
    expect(nextFreeSuffix('a', ['a', 'a-2', 'a-4'])).toBe('a-3');
  });
});
