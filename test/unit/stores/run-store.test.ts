import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunState } from '../../../src/core/run';
import type { RunStore } from '../../../src/stores/run-store';
import { createRunStore } from '../../../src/stores/run-store';
import { createWholeFile, writeJson } from '../../../src/stores/whole-file';
import { thrownBy } from './thrown-by';

let root: string;
let store: RunStore;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'everstep-store-'));
  store = createRunStore(root);
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const OWNER = { workflowId: 'train/first', firstRunId: 'a' };

function stateOf(run: string, startedAt = '2026-01-01T00:00:00.000Z'): RunState {
  return {
    run,
    kind: 'sft',
    model: 'everstep/tiny',
    status: 'running',
    step: 0,
    totalSteps: 10,
    startedAt,
    closedAt: null,
    workflowId: `train/${run}`,
    engine: 'http://127.0.0.1:1',
    lineage: 0,
    rewinds: 0,
    stepsReplayed: 0,
    finalWeightsDigest: null,
  };
}

describe('claiming', () => {
  test('makes the run belong to one workflow', async () => {
    expect(await store.claim('first', OWNER)).toBe('claimed');
    expect(await store.claim('first', OWNER)).toBe('already-ours');
    expect(await store.exists('first')).toBe(true);

    await expect(store.claim('first', { ...OWNER, firstRunId: 'b' })).rejects.toMatchObject({
      code: 'store-conflict',
    });
    await expect(store.claim('first', { ...OWNER, workflowId: 'train/x' })).rejects.toThrow(
      'Run "first" in ' +
        root +
        ' belongs to another workflow (train/first). Start under another name, or use another store.',
    );
  });

  test('lets one of many win', async () => {
    const claims = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => store.claim('first', { ...OWNER, firstRunId: String(index) })),
    );

    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(readdirSync(join(root, 'runs', 'first'))).toEqual(['owner.json']);
  });

  test('can be undone, but not by others', async () => {
    await store.claim('first', OWNER);

    await store.discard('first', { workflowId: 'train/other' });
    expect(await store.exists('first')).toBe(true);

    await store.discard('first', OWNER);
    await store.discard('first');
    expect(readdirSync(join(root, 'runs'))).toEqual([]);
  });
});

test.each(['..', '../x', 'a/b', '', '.hidden', 'a'.repeat(101), 'x\u0000'])(
  'refuses the run name %j',
  (name) => {
    expect(thrownBy(() => store.runFolder(name))).toMatchObject({ code: 'bad-config' });
  },
);

test('keeps cells within the run', () => {
  expect(store.cellFolder('first', 20, 'test')).toBe(join(root, 'runs', 'first', 'evals', '20', 'test'));
  expect(thrownBy(() => store.cellFolder('first', -1, 'test'))).toMatchObject({ code: 'bad-config' });
  expect(thrownBy(() => store.cellFolder('first', 1, '../../x'))).toMatchObject({ code: 'bad-config' });
});

test('a run whose folder was taken away is not begun anew by what is written', async () => {
  await store.claim('first', OWNER);
  const [folder, cell] = [store.runFolder('first'), store.cellFolder('first', 0, 'test')];
  renameSync(folder, `${folder}-elsewhere`);
  const away = {
    code: 'unreachable',
    retryable: true,
    message: expect.stringMatching(/has no run "first".*put it back/) as string,
  };

  await expect(store.writeState('first', stateOf('first'))).rejects.toMatchObject(away);
  await expect(store.openJournal('first', 'metrics', { epoch: 1 })).rejects.toMatchObject(away);
  await expect(writeJson(join(cell, 'cell.json'), {})).rejects.toMatchObject(away);
  await expect(createWholeFile(join(cell, 'rollouts', '0', '0.jsonl'), '')).rejects.toMatchObject(away);
  expect(readdirSync(join(root, 'runs'))).toEqual(['first-elsewhere']);

  renameSync(`${folder}-elsewhere`, folder);
  await store.writeState('first', stateOf('first'));
  await writeJson(join(cell, 'cell.json'), {});
  expect(readdirSync(folder).sort()).toEqual(['evals', 'owner.json', 'state.json']);
});

const WRONG_STATES = {
  number: { startedAt: 5 },
  text: { step: 'five' },
  object: { model: { name: 'm' } },
  none: { status: null },
  list: { reason: ['a'] },
  remarks: { remarks: 'none' },
};

test('rows of a pipe in place of a journal are none', async () => {
  await store.claim('first', OWNER);
  for (const name of ['metrics', 'scores', 'timing'])
    execFileSync('mkfifo', [join(root, 'runs', 'first', `${name}.jsonl`)]);

  expect(await store.readScores('first')).toEqual([]);
  expect(await store.readMetrics('first')).toEqual([]);
  expect(await store.readLastMetrics('first')).toBeNull();
});

test('lists runs by their start and passes over broken folders', async () => {
  for (const run of ['first', 'second', 'copied']) await store.claim(run, OWNER);
  await store.writeState('second', stateOf('second', '2026-01-02T00:00:00.000Z'));
  await store.writeState('first', stateOf('first'));
  mkdirSync(join(root, 'runs', 'empty'));
  mkdirSync(join(root, 'runs', 'torn'));
  writeFileSync(join(root, 'runs', 'torn', 'state.json'), '{"run": "to');
  mkdirSync(join(root, 'runs', 'not a name'));
  await store.writeState('copied', stateOf('original'));
  for (const [name, wrong] of Object.entries(WRONG_STATES)) {
    mkdirSync(join(root, 'runs', name));
    await writeJson(join(root, 'runs', name, 'state.json'), { ...stateOf(name), ...wrong });
  }
  mkdirSync(join(root, 'runs', 'folder', 'state.json'), { recursive: true });
  mkdirSync(join(root, 'runs', 'pipe'));
  execFileSync('mkfifo', [join(root, 'runs', 'pipe', 'state.json')]);

  expect((await store.listRuns()).map(({ run }) => run)).toEqual(['first', 'second']);
  expect(await createRunStore(join(root, 'nowhere')).listRuns()).toEqual([]);
});

test('reads back what was written, and says where there is nothing', async () => {
  await store.writeConfig('first', { model: 'everstep/tiny' });
  await store.writeState('first', stateOf('first'));
  await store.writeCodeDiff('first', 'diff\n');

  expect(await store.readConfig('first')).toEqual({ model: 'everstep/tiny' });
  expect(await store.readState('first')).toEqual(stateOf('first'));
  expect(readFileSync(join(root, 'runs', 'first', 'code.diff'), 'utf8')).toBe('diff\n');
  expect(readdirSync(join(root, 'runs', 'first')).sort()).toEqual(['code.diff', 'config.json', 'state.json']);

  await expect(store.readConfig('other')).rejects.toMatchObject({ code: 'unknown-run' });
  expect(await store.readState('other')).toBeNull();
  expect(await store.readMetrics('other')).toEqual([]);
  expect(await store.exists('other')).toBe(false);
});

test('journals rows by what they are about', async () => {
  await store.claim('first', OWNER);
  const scores = await store.openJournal('first', 'scores', { epoch: 1 });
  const score = {
    step: 10,
    schedule: 'often',
    evaluator: 'test',
    metric: 'nll',
    key: 'test/nll',
    value: 1,
    stderr: 0.1,
    n: 4,
    higherIsBetter: false,
    at: '2026-01-01T00:00:00.000Z',
  };
  scores.append(score);
  scores.append({ ...score, value: 2 });
  scores.append({ ...score, schedule: 'rarely' });
  await scores.close();

  expect((await store.readScores('first')).map(({ schedule, value }) => [schedule, value])).toEqual([
    ['often', 1],
    ['rarely', 1],
  ]);
});

test('reads a range of steps', async () => {
  await store.claim('first', OWNER);
  const metrics = await store.openJournal('first', 'metrics', { epoch: 1 });
  for (let step = 1; step <= 5; step++) metrics.append({ step, 'train/nll': 1 / step });
  await metrics.close();

  expect((await store.readMetrics('first', { from: 2, to: 4 })).map(({ step }) => step)).toEqual([2, 3, 4]);
  expect(await store.readMetrics('first')).toHaveLength(5);
  expect(await store.readCheckpoints('first')).toEqual([]);
  expect(await store.readControls('first')).toEqual([]);
  expect(await store.readTiming('first')).toEqual([]);
});
