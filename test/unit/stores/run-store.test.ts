import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RunState } from '../../../src/core/run';
import type { UnreadableState } from '../../../src/stores/run-state';
import type { RunStore } from '../../../src/stores/run-store';
import { isDeeperThan } from '../../../src/core/json-depth';
import { openJournal } from '../../../src/stores/fenced-journal';
import { createRunStore } from '../../../src/stores/run-store';
import { createWholeFile, writeJson, writeJsonNow } from '../../../src/stores/whole-file';
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
      message: expect.stringContaining('everstep train --run first --continue') as string,
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

test.each(['runs', 'runs/first', 'runs/first/evals', 'evals/ev0', 'evals/ev0/sums'])(
  'nothing is written through a link at %s; the store itself may be one',
  async (name) => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'everstep-elsewhere-'));
    const linked = `${root}-linked`;
    symlinkSync(root, linked);
    const through = createRunStore(linked);
    await through.claim('other', OWNER);
    rmSync(join(root, name), { recursive: true, force: true });
    mkdirSync(dirname(join(root, name)), { recursive: true });
    symlinkSync(elsewhere, join(root, name));
    const refused = {
      code: 'refused',
      message: expect.stringContaining(`${name}" is a link`) as string,
    };

    for (const place of [root, linked]) {
      const path = join(place, name, 'a', 'b', 'rows.jsonl');
      await expect(writeJson(path, {})).rejects.toMatchObject(refused);
      await expect(createWholeFile(path, '')).rejects.toMatchObject(refused);
      await expect(openJournal({ path, epoch: 1, keyOf: () => 1 })).rejects.toMatchObject(refused);
      writeJsonNow(path, {});
    }

    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(linked);
    rmSync(elsewhere, { recursive: true });
  },
);

test('what a process writes at its end goes through no link in the place of the file', () => {
  const [path, other] = [join(root, '.begun.json'), join(root, 'other.json')];
  writeFileSync(other, 'kept');
  symlinkSync(other, path);

  writeJsonNow(path, { deaths: 1 });

  expect(readFileSync(other, 'utf8')).toBe('kept');
  expect(readFileSync(path, 'utf8')).toBe('{"deaths":1}');
  expect(readdirSync(root).filter((name) => name.endsWith('.tmp'))).toEqual([]);
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
  digits: { step: '5' },
  half: { step: 0.5 },
  huge: { totalSteps: 1e300 },
  object: { model: { name: 'm' } },
  none: { status: null },
  status: { status: 5 },
  word: { status: 'asleep' },
  nested: { status: { status: { status: 'running' } } },
  list: { reason: ['a'] },
  remarks: { remarks: 'none' },
  key: { file: 'state.json', step: 'x' },
};
/** What a `state.json` may hold that is not even an object. */
const NO_STATES = { array: '[]', null: 'null', empty: '', bare: '{"step":"x"}', five: '{"status":5}' };

/** What may lie in a file's place, made at this path. */
const NO_FILES: Readonly<Record<string, (path: string) => void>> = {
  pipe: (path) => execFileSync('mkfifo', [path]),
  directory: (path) => {
    mkdirSync(path);
  },
  device: (path) => {
    symlinkSync('/dev/zero', path);
  },
};

test.each(Object.entries(NO_FILES))(
  'a %s in place of a journal is refused by its path',
  async (what, make) => {
    await store.claim('first', OWNER);
    const places = ['metrics', 'scores', 'timing', 'events'].map((name) =>
      join(root, 'runs', 'first', `${name}.jsonl`),
    );
    places.forEach(make);

    const reads = [
      store.readMetrics('first'),
      store.readScores('first'),
      store.readTiming('first', { last: 3 }),
      store.readEvents('first'),
    ];
    for (const [index, outcome] of (await Promise.allSettled(reads)).entries()) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'store-conflict' } });
      expect(String('reason' in outcome && outcome.reason)).toContain(
        `${places[index]} is a ${what} where a file belongs`,
      );
    }
    expect(await store.readLastMetrics('first')).toBeNull();
    // Whoever writes does not wait for it either.
    await expect(store.openJournal('first', 'metrics', { epoch: 1 })).rejects.toThrow(`is a ${what} where`);
  },
);

/** Values of another type than their own, in the place of what a journal's rows have. */
const DEEP: unknown = JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`);
const WRONG_VALUES: readonly unknown[] = [
  null,
  'x',
  '5',
  -1.5,
  1e300,
  [],
  {},
  { toString: 5 },
  [[[[]]]],
  DEEP,
];

test('rows with values of another type are passed over, the others stay', async () => {
  await store.claim('first', OWNER);
  const wrongRows = (row: object) =>
    Object.keys(row).flatMap((key) => WRONG_VALUES.map((value) => ({ ...row, [key]: value })));
  const at = '2026-01-01T00:00:00.000Z';
  const rows = {
    metrics: { step: 1, loss: 2 },
    timing: { step: 1, at, seconds: 2 },
    events: { at, kind: 'opened', step: 1, text: 'a' },
    controls: { at, by: 'me', reason: '', step: 1, control: 'stop', from: null, to: null },
    checkpoints: { name: 'a', step: 1, batch: 1, state_path: 'p', sampler_path: null },
  };
  for (const [name, row] of Object.entries(rows)) {
    const lines = [row, ...wrongRows(row), { ...row, step: 2 }].map((each) => JSON.stringify(each));
    writeFileSync(join(root, 'runs', 'first', `${name}.jsonl`), `${lines.join('\n')}\n`);
  }

  for (const row of await store.readMetrics('first'))
    expect(Object.values(row).every((value) => value === null || typeof value === 'number')).toBe(true);
  const steps = async (read: Promise<readonly { readonly step: number }[]>) => [
    ...new Set((await read).map(({ step }) => step)),
  ];
  expect(await steps(store.readMetrics('first'))).toEqual([1, 2]);
  expect(await steps(store.readTiming('first'))).toEqual([1, 2]);
  expect(await steps(store.readEvents('first'))).toEqual([1, 2]);
  expect(await steps(store.readControls('first'))).toEqual([1, 2]);
  expect(await steps(store.readCheckpoints('first'))).toEqual([1, 2]);
  expect((await store.readControls('first')).filter(({ from, to }) => isDeeperThan([from, to], 100))).toEqual(
    [],
  );
  expect((await store.readEvents('first')).every(({ text }) => typeof text === 'string')).toBe(true);
  expect(await store.readLastMetrics('first')).toEqual({ step: 2, loss: 2 });
});

test('lists runs by their start, and says of which the state cannot be read', async () => {
  for (const run of ['first', 'second', 'copied']) await store.claim(run, OWNER);
  await store.writeState('second', stateOf('second', '2026-01-02T00:00:00.000Z'));
  await store.writeState('first', stateOf('first'));
  mkdirSync(join(root, 'runs', 'empty-folder'));
  mkdirSync(join(root, 'runs', 'torn'));
  writeFileSync(join(root, 'runs', 'torn', 'state.json'), '{"run": "to');
  mkdirSync(join(root, 'runs', 'not a name'));
  await store.writeState('copied', stateOf('original'));
  for (const [name, wrong] of Object.entries(WRONG_STATES)) {
    mkdirSync(join(root, 'runs', name));
    await writeJson(join(root, 'runs', name, 'state.json'), { ...stateOf(name), ...wrong });
  }
  for (const [name, text] of Object.entries(NO_STATES)) {
    mkdirSync(join(root, 'runs', name));
    writeFileSync(join(root, 'runs', name, 'state.json'), text);
  }
  for (const [name, make] of Object.entries(NO_FILES)) {
    mkdirSync(join(root, 'runs', name));
    make(join(root, 'runs', name, 'state.json'));
  }

  expect((await store.listRuns()).map(({ run }) => run)).toEqual(['first', 'second']);

  const unreadable: UnreadableState[] = [];
  for await (const { run } of store.eachRun((found) => unreadable.push(found)))
    expect(['first', 'second']).toContain(run);
  const broken = [
    'copied',
    'torn',
    ...[WRONG_STATES, NO_STATES, NO_FILES].flatMap((each) => Object.keys(each)),
  ];
  expect(unreadable.map(({ run }) => run).sort()).toEqual(broken.sort());
  for (const { run, file, reason } of unreadable) {
    expect(file).toBe(join(root, 'runs', run, 'state.json'));
    expect(reason).not.toBe('');
    expect(await store.findUnreadable(run)).toEqual({ run, file, reason });
    expect(await store.readState(run)).toBeNull();
  }
  expect(unreadable.find(({ run }) => run === 'digits')?.reason).toBe('"step" is not what it has to be');
  expect(await store.findUnreadable('first')).toBeNull();
  expect(await store.findUnreadable('empty-folder')).toBeNull();
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
