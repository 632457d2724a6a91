import { randomUUID } from 'node:crypto';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { createCommand as createStore } from '../../../src/cli/commands/store';
import { deleteResults } from '../../../src/client/delete-results';
import { deleteRun } from '../../../src/client/delete-run';
import { collectGarbage, findGarbage } from '../../../src/client/garbage';
import type { ServerLink } from '../../../src/client/server-link';
import { createRunStore } from '../../../src/stores/run-store';
import { temporaryName } from '../../../src/stores/whole-file';
import { rowsOf, storeBenchmark } from '../evaluation/compare/stored-results';
import { FakeServer, SERVER_AWAY, STATE } from './fake-server';

const DAY_MS = 86_400_000;
/** What lies there now is two days old. */
const LATER = () => Date.now() + 2 * DAY_MS;

let root: string;
let store: string;
let dataFolder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'everstep-garbage-'));
  [store, dataFolder] = [join(root, 'data', 'store'), join(root, 'data')];
  mkdirSync(join(store, 'evals'), { recursive: true });
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

const NO_SERVER = { target: null, description: 'none', find: async () => null } as unknown as ServerLink;
const sourcesOn = (link: ServerLink = NO_SERVER) => ({
  ...{ link, records: createRunStore(store), store, dataFolder, cacheFolder: join(root, 'cache') },
  ...{ scheduledModels: async () => [], scheduleNames: async () => [] },
});

function write(file: string, text = 'x'): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

async function storeRun(run: string, status: 'completed' | 'running' = 'completed'): Promise<string> {
  const records = createRunStore(store);
  await records.claim(run, { workflowId: `train/${run}`, firstRunId: 'first' });
  const closedAt = status === 'completed' ? '2026-01-01T00:10:00.000Z' : null;
  await records.writeState(run, { ...STATE, run, workflowId: `train/${run}`, status, closedAt });
  await records.writeConfig(run, { config: { kind: 'sft' } });
  return join(store, 'runs', run);
}

/** A run, and what the engine keeps of it. */
async function storeTrained(run: string): Promise<{ readonly model: string; readonly weights: string }> {
  const model = `${randomUUID()}:train:0`;
  const folder = await storeRun(run);
  const row = { name: 'final', step: 1, state_path: `tinker://${model}/weights/final`, sampler_path: null };
  write(join(folder, 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);
  const weights = join(dataFolder, 'engine', 'checkpoints', model.replaceAll(':', '_'));
  write(join(weights, 'weights', 'final', 'weights.safetensors'), 'weights');
  return { model, weights };
}

/** Every entry below the root, with what it holds. */
function treeOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const about = lstatSync(join(folder, name));
      const holds = about.isFile()
        ? readFileSync(join(folder, name), 'hex')
        : about.isSymbolicLink()
          ? readlinkSync(join(folder, name))
          : '';
      return `${name} ${about.mtimeMs} ${holds}`;
    });
}

const shown = (items: readonly { readonly kind: string; readonly path: string }[]) =>
  items.map(({ kind, path }) => `${kind} ${relative(root, path)}`).sort();

test('finds what interrupted deletions and writes left, of runs that have ended, and removes it', async () => {
  const [ended, open] = [await storeRun('ended'), await storeRun('open', 'running')];
  const left = [
    write(temporaryName(join(ended, 'state.json'))),
    write(temporaryName(join(ended, 'evals', '1', 'gsm8k', 'cell.json'))),
    dirname(write(join(store, 'runs', '.deleted-1', 'state.json'))),
    dirname(write(join(store, 'runs', '.discarded-1', 'state.json'))),
    dirname(write(join(store, 'evals', '.deleted-2', 'metadata.json'))),
    dirname(write(join(dataFolder, 'engine', 'checkpoints', '.deleted-3', 'closed'))),
    write(join(root, 'cache', 'datasets', 'a--b', 'c', `train.jsonl.${randomUUID()}.partial`)),
    write(join(dataFolder, 'logs', 'worker.log.old')),
  ];
  const kept = [
    write(temporaryName(join(open, 'state.json'))),
    write(join(ended, '.metrics.jsonl.generation-1')),
    write(join(ended, 'notes.tmp')),
    write(join(dataFolder, 'logs', 'worker.log')),
    write(join(root, 'cache', 'datasets', 'a--b', 'c', 'train.jsonl')),
  ];
  const before = treeOf(root);

  const plan = await findGarbage(sourcesOn(), { now: LATER() });

  expect(treeOf(root)).toEqual(before);
  expect(plan.items.map(({ path }) => path).sort()).toEqual(left.sort());
  expect(plan.items.every(({ ageSeconds }) => ageSeconds > 86_400)).toBe(true);
  expect(plan).toMatchObject({ bytes: left.length, kept: [], applied: false });

  expect(await collectGarbage(sourcesOn(), { now: LATER() })).toMatchObject({
    bytes: left.length,
    applied: true,
  });
  expect(left.filter((file) => existsSync(file))).toEqual([]);
  expect(kept.filter((file) => !existsSync(file))).toEqual([]);
  expect((await findGarbage(sourcesOn(), { now: LATER() })).items).toEqual([]);
});

test.each([
  ['no server', NO_SERVER],
  ['a server', new FakeServer({}).link],
])('a link to itself in the store keeps nothing from being cleaned, with %s', async (_what, link) => {
  const left = write(join(store, 'evals', '.deleted-0', 'x'));
  const { weights } = await storeTrained('gone');
  await deleteRun(sourcesOn(), 'gone');
  for (const place of [
    'evals/loop',
    'runs/loop',
    'evals/x',
    'evals/x/loop',
    'schedules/loop',
    'deleted/loop',
  ]) {
    mkdirSync(dirname(join(store, place)), { recursive: true });
    if (place.endsWith('loop')) symlinkSync('loop', join(store, place));
    else mkdirSync(join(store, place));
  }

  const found = (await findGarbage(sourcesOn(link))).items.map((item) => item.path);

  expect(found.sort()).toEqual([dirname(left), weights].sort());
  expect((await collectGarbage(sourcesOn(link))).applied).toBe(true);
  expect(existsSync(dirname(left))).toBe(false);
});

test('a temporary file of today may be somebody’s; what was being deleted is nobody’s', async () => {
  write(temporaryName(join(await storeRun('ended'), 'state.json')));
  write(join(dataFolder, 'logs', 'dev.log.old'));
  write(join(store, 'runs', '.deleted-1', 'state.json'));

  expect(shown((await findGarbage(sourcesOn())).items)).toEqual(['deletion data/store/runs/.deleted-1']);
  expect((await findGarbage(sourcesOn(), { olderThanSeconds: 3600 })).items).toEqual([]);
  const muchLater = { now: LATER(), olderThanSeconds: 3 * 86_400 };
  expect((await findGarbage(sourcesOn(), muchLater)).items).toEqual([]);
});

test('with a server, what it has under way counts; without one, what has no result', async () => {
  storeBenchmark(join(store, 'evals', 'begun'), 'gsm8k', { rows: rowsOf([1]) });
  write(join(store, 'evals', 'begun', 'mmlu', 'journal', 'plan.json'), '{}');
  write(temporaryName(join(store, 'evals', 'begun', 'metadata.json')));
  const itemsOn = async (link: ServerLink) => (await findGarbage(sourcesOn(link), { now: LATER() })).items;

  expect(await itemsOn(NO_SERVER)).toEqual([]);
  expect(await itemsOn(new FakeServer({ 'bench/begun/mmlu': { status: 'RUNNING' } }).link)).toEqual([]);
  expect(await itemsOn(new FakeServer().link)).toHaveLength(1);
});

test('no link is followed, and none outside is touched', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'everstep-outside-'));
  const precious = write(temporaryName(join(outside, 'state.json')));
  write(join(outside, '.deleted-1', 'state.json'));
  const ended = await storeRun('ended');
  symlinkSync(outside, join(ended, 'link'));
  symlinkSync(outside, join(store, 'schedules'));
  symlinkSync(outside, join(dataFolder, 'logs'));
  write(join(outside, 'worker.log.old'));
  symlinkSync(outside, join(store, 'runs', '.deleted-9'));
  const linked = await storeTrained('linked');
  renameSync(linked.weights, join(outside, 'moved'));
  symlinkSync(join(outside, 'moved'), linked.weights);
  await deleteRun(sourcesOn(), 'linked');
  write(join(store, 'runs', '.deleted-8', 'state.json'));
  symlinkSync(outside, join(store, 'runs', '.deleted-8', 'link'));
  const before = treeOf(outside);

  await collectGarbage(sourcesOn(), { now: LATER() });

  expect(treeOf(outside)).toEqual(before);
  expect(existsSync(precious)).toBe(true);
  expect(readdirSync(join(store, 'runs')).sort()).toEqual(['ended']);
  rmSync(outside, { recursive: true });
});

test('a note that names what is no model leads nowhere', async () => {
  const kept = write(join(dataFolder, 'kept'));
  const models = ['../../kept', '..', 'a/../../..:train:0', '/etc:train:0', 7];
  const note = { run: 'x', at: '2026-01-01T00:00:00.000Z' };
  for (const model of models)
    write(join(store, 'deleted', `${randomUUID()}.json`), JSON.stringify({ ...note, models: [model] }));
  write(join(store, 'deleted', '..json'), 'no JSON');

  expect(await collectGarbage(sourcesOn(), { now: LATER() })).toMatchObject({ items: [], kept: [] });
  expect(existsSync(kept)).toBe(true);
});

describe('what a deleted run left at the local engine', () => {
  test('counts a file with two names once', async () => {
    const { weights } = await storeTrained('gone');
    mkdirSync(join(weights, 'sampler_weights', 'final'), { recursive: true });
    const file = join('final', 'weights.safetensors');
    linkSync(join(weights, 'weights', file), join(weights, 'sampler_weights', file));
    await deleteRun(sourcesOn(), 'gone');

    expect(await findGarbage(sourcesOn())).toMatchObject({ bytes: 7, items: [{ files: 2 }] });
  });

  test('goes, and what other runs or other programs saved there stays', async () => {
    const [gone, other] = [await storeTrained('gone'), await storeTrained('other')];
    const foreign = write(join(dataFolder, 'engine', 'checkpoints', `${randomUUID()}_train_0`, 'closed'));
    expect((await findGarbage(sourcesOn())).items).toEqual([]);
    await deleteRun(sourcesOn(), 'gone');

    const { items, bytes } = await collectGarbage(sourcesOn());

    expect(items).toMatchObject([{ kind: 'checkpoints', path: gone.weights, bytes: 7, files: 1 }]);
    expect(items[0]?.reason).toBe('checkpoints of run gone, which was deleted');
    expect(bytes).toBe(7);
    expect(existsSync(gone.weights)).toBe(false);
    expect([other.weights, foreign].every((file) => existsSync(file))).toBe(true);
  });

  test.each<[string, (model: string) => ServerLink | Promise<ServerLink>, string]>([
    [
      'a run names',
      async (model) => {
        write(
          join(await storeRun('two'), 'config.json'),
          JSON.stringify({ initialPath: `tinker://${model}/weights/final` }),
        );
        return NO_SERVER;
      },
      'something in the store refers to it',
    ],
    [
      'a promotion of a run whose state cannot be read names',
      (model) => {
        write(
          join(store, 'runs', 'odd', 'best.json'),
          JSON.stringify({ sampler_path: `tinker://${model}/sampler_weights/final` }),
        );
        return NO_SERVER;
      },
      'something in the store refers to it',
    ],
    [
      'an eval run asks',
      (model) => {
        const file = join(store, 'evals', 'e', 'gsm8k', 'journal', 'plan.json');
        write(
          file,
          JSON.stringify({ request: { model: { path: `tinker://${model}/sampler_weights/final` } } }),
        );
        return NO_SERVER;
      },
      'something in the store refers to it',
    ],
    [
      'a workflow under way asks',
      (model) => {
        const memo = { request: { model: { path: `tinker://${model}/sampler_weights/final` } } };
        return new FakeServer({ 'bench/far/gsm8k': { status: 'RUNNING', memo } }).link;
      },
      'a schedule or something under way refers to it',
    ],
    [
      'a schedule asks',
      (model) => {
        const server = new FakeServer();
        server.schedules['canary/nightly'] = {
          action: { args: [{ request: { model: { path: `tinker://${model}/sampler_weights/final` } } }] },
        };
        return server.link;
      },
      'a schedule or something under way refers to it',
    ],
    ['a schedule may ask, while no server says', () => SERVER_AWAY, 'no Temporal server says'],
    [
      'a schedule of a stack that does not run may ask',
      () => {
        write(join(dataFolder, 'temporal.db'));
        return NO_SERVER;
      },
      'no Temporal server says',
    ],
  ])('stays where %s it', async (_, arrange, reason) => {
    const { model, weights } = await storeTrained('gone');
    await deleteRun(sourcesOn(), 'gone');
    const link = await arrange(model);

    const report = await collectGarbage(sourcesOn(link));

    expect(report.items).toEqual([]);
    expect(report.kept).toEqual([
      { path: weights, bytes: 7, reason: expect.stringContaining(reason) as string },
    ]);
    expect(existsSync(join(weights, 'weights', 'final', 'weights.safetensors'))).toBe(true);
  });

  test('stays where the store that is cleaned is a copy, or has only a note of it', async () => {
    const { model, weights } = await storeTrained('kept');
    const copy = join(root, 'copy');
    write(
      join(copy, 'deleted', 'kept.json'),
      JSON.stringify({ run: 'kept', at: '2026-01-01T00:00:00.000Z', models: [model] }),
    );
    mkdirSync(join(copy, 'evals'));
    const sources = { ...sourcesOn(), records: createRunStore(copy), store: copy };

    const report = await collectGarbage(sources);

    expect(report.items).toEqual([]);
    expect(report.kept).toMatchObject([
      { path: weights, reason: `something in the store refers to it: ${store}` },
    ]);
    expect(existsSync(weights)).toBe(true);

    await deleteRun(sourcesOn(), 'kept');
    expect((await collectGarbage(sources)).items).toHaveLength(1);
  });

  test('in the demo’s engine stays while the demo’s own server is not heard', async () => {
    const { weights } = await storeTrained('gone');
    await deleteRun(sourcesOn(), 'gone');
    const moved = weights.replace(dataFolder, join(dataFolder, 'demo'));
    mkdirSync(dirname(moved), { recursive: true });
    renameSync(weights, moved);
    const database = write(join(dataFolder, 'demo', 'temporal.db'));

    const report = await collectGarbage(sourcesOn(new FakeServer().link));
    expect(report.kept[0]?.reason).toContain(`everstep dev --data-dir ${join(dataFolder, 'demo')}`);
    expect(existsSync(moved)).toBe(true);

    rmSync(database);
    expect((await collectGarbage(sourcesOn())).items).toHaveLength(1);
    expect(existsSync(moved)).toBe(false);
  });

  test('is that of a run again where a kill came between its note and its deletion', async () => {
    const { model, weights } = await storeTrained('kept');
    write(
      join(store, 'deleted', 'kept.json'),
      JSON.stringify({ run: 'kept', at: '2026-01-01T00:00:00.000Z', models: [model] }),
    );

    await collectGarbage(sourcesOn());

    expect(existsSync(weights)).toBe(true);
  });

  test('stays while something in the store cannot be read, which may name it; the rest goes', async () => {
    const { weights } = await storeTrained('gone');
    await deleteRun(sourcesOn(), 'gone');
    const left = write(join(store, 'evals', '.deleted-0'));
    symlinkSync('state.json', write(join(store, 'runs', 'other', 'x')).replace(/x$/, 'state.json'));

    const { items, kept } = await collectGarbage(sourcesOn());

    expect(items).toMatchObject([{ kind: 'deletion', path: left }]);
    expect(kept).toMatchObject([{ path: weights }]);
    expect(kept[0]?.reason).toMatch(/may refer to it: .*state\.json is a link that leads back to itself/);
  });

  test('is found by the next one where a kill came between renaming and removing', async () => {
    const { weights } = await storeTrained('gone');
    await deleteRun(sourcesOn(), 'gone');
    renameSync(weights, join(dirname(weights), '.deleted-0'));
    renameSync(await storeRun('half'), join(store, 'runs', '.deleted-0'));

    expect((await collectGarbage(sourcesOn())).items.map(({ kind }) => kind)).toEqual([
      'deletion',
      'deletion',
    ]);
    expect(readdirSync(dirname(weights))).toEqual([]);
    expect(readdirSync(join(store, 'runs'))).toEqual([]);
  });
});

test('two at once are no trouble to each other, nor to deletions', async () => {
  for (let index = 0; index < 20; index++) {
    for (const name of ['a', 'b', 'c']) write(join(store, 'runs', `.deleted-${index}`, name, 'x', 'y'));
    await storeTrained(`run-${index}`);
    await deleteRun(sourcesOn(), `run-${index}`);
  }
  for (let index = 0; index < 20; index++) write(join(store, 'runs', `.deleted-${index}`, 'deep', 'er', 'x'));
  storeBenchmark(join(store, 'evals', 'old'), 'gsm8k', { rows: rowsOf([1]) });

  const [, ...reports] = await Promise.all([
    deleteResults(sourcesOn(), ['old']),
    collectGarbage(sourcesOn()),
    collectGarbage(sourcesOn()),
    collectGarbage(sourcesOn()),
  ]);

  // What one has removed, no other tells as freed.
  const told = reports.flatMap(({ items }) => items.map(({ path }) => path));
  expect(told).toEqual([...new Set(told)]);
  expect(told.length).toBeGreaterThan(0);
  for (const { items, bytes } of reports)
    expect(bytes).toBe(items.reduce((sum, item) => sum + item.bytes, 0));

  expect((await findGarbage(sourcesOn())).items).toEqual([]);
  expect(readdirSync(join(dataFolder, 'engine', 'checkpoints'))).toEqual([]);
  expect(readdirSync(join(store, 'runs'))).toEqual([]);
});

/** `store gc` with these words; gives what it says. */
function commandHere(): (...words: readonly string[]) => Promise<string> {
  let stdout = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  return async (...words) => {
    stdout = '';
    const places = ['--store', store, '--data-dir', dataFolder];
    await createStore().parseAsync(['gc', ...words, ...places], { from: 'user' });
    return stdout;
  };
}

test('the command says in whole sentences why something stays', async () => {
  await storeTrained('gone');
  await deleteRun(sourcesOn(), 'gone');
  const odd = join(store, 'runs', 'odd', 'best.json');
  mkdirSync(odd, { recursive: true });

  const said = await commandHere()();

  expect(said).toMatch(/^Nothing can be removed from .*\.$/m);
  expect(said).toMatch(/^Stays: .*best\.json is a directory where a file belongs\. .* if there was one\.$/m);
});

test('the command shows a table with a sum and changes nothing; --apply removes', async () => {
  const run = commandHere();
  const { weights } = await storeTrained('gone');
  await deleteRun(sourcesOn(), 'gone');
  write(join(dataFolder, 'logs', 'dev.log.old'), 'y'.repeat(2_500_000));
  utimesSync(join(dataFolder, 'logs', 'dev.log.old'), new Date(), new Date(Date.now() - 3 * DAY_MS - 60_000));
  const before = treeOf(root);

  const table = await run();
  const document = JSON.parse(await run('--json')) as object;

  expect(table).toMatch(/size\s+age\s+what\s+where/);
  expect(table).toMatch(/2\.5 MB\s+3d\s+a log that was set aside\s+.*dev\.log\.old/);
  expect(table).toContain('Would remove 2, 2.5 MB in all.');
  expect(document).toMatchObject({ store, applied: false, bytes: 2_500_007, kept: [] });
  expect(treeOf(root)).toEqual(before);
  expect(await run('--older-than', '2d')).not.toContain('which was deleted');

  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  expect(await run('--apply')).toContain('Removed 2, 2.5 MB in all.');
  expect(existsSync(weights)).toBe(false);
  expect(await run()).toContain('Nothing is left over');
  await expect(
    createStore().exitOverride().parseAsync(['gc', '--older-than', 'soon'], { from: 'user' }),
  ).rejects.toThrow();
});
