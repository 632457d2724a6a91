import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createCommand as createResults } from '../../../src/cli/commands/results';
import { deleteResults, planResultsDeletion } from '../../../src/client/delete-results';
import { Everstep } from '../../../src/client/everstep';
import type { ServerLink } from '../../../src/client/server-link';
import { createCanaryStore } from '../../../src/stores/canary-store';
import { createRunStore } from '../../../src/stores/run-store';
import { sizeOfFolder } from '../../../src/stores/delete-folder';
import { rowsOf, storeBenchmark } from '../evaluation/compare/stored-results';
import { FakeServer, SERVER_AWAY } from './fake-server';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'everstep-delete-results-'));
  for (const run of ['old', 'new']) store(run);
});
afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(root, { recursive: true, force: true });
});

const folderOf = (run: string) => join(root, 'evals', run);

function store(run: string): void {
  storeBenchmark(folderOf(run), 'gsm8k', { rows: rowsOf([1, 0]) });
  write(join(folderOf(run), 'metadata.json'), { run_id: run, benchmarks: ['gsm8k'], config: {} });
}

/** One of which the first cell lies in `old`. */
function writeBackfill(...statuses: readonly string[]): void {
  write(join(root, 'backfills', 'all.json'), {
    cells: statuses.map((status, index) => ({ status, place: index === 0 ? 'evals/old/gsm8k' : null })),
  });
}

function write(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value));
}

const sourcesOn = (link: ServerLink = SERVER_AWAY, schedules: readonly string[] | null = null) => ({
  link,
  records: createRunStore(root),
  store: root,
  scheduleNames: async () => schedules,
});

test('results that nothing refers to go, with the histories of their workflows, and the others stay', async () => {
  const { bytes, files } = await sizeOfFolder(folderOf('old'));
  const server = new FakeServer({
    'bench/old/gsm8k': { status: 'COMPLETED' },
    'bench/new/gsm8k': { status: 'COMPLETED' },
  });

  const [plan] = await planResultsDeletion(sourcesOn(server.link), ['old']);
  expect(plan).toEqual({ run: 'old', folder: folderOf('old'), bytes, files, heldBy: [] });
  expect(existsSync(folderOf('old'))).toBe(true);

  expect(await deleteResults(sourcesOn(server.link), ['old'])).toEqual([plan]);
  expect(readdirSync(join(root, 'evals'))).toEqual(['new']);
  expect(Object.keys(server.workflows)).toEqual(['bench/new/gsm8k']);
});

test.each<[string, () => Parameters<typeof planResultsDeletion>[0], RegExp]>([
  [
    'that is under way',
    () => sourcesOn(new FakeServer({ 'bench/old/gsm8k': { status: 'RUNNING' } }).link),
    /bench\/old\/gsm8k goes on.*results cancel old/,
  ],
  [
    'that has no result while no server says whether it goes on',
    () => {
      write(join(folderOf('old'), 'mmlu', 'journal', 'plan.json'), {});
      return sourcesOn();
    },
    /mmlu has no result, and no server says whether it goes on/,
  ],
  [
    'whose answers another one was asked to take',
    () => {
      write(join(folderOf('new'), 'metadata.json'), {
        run_id: 'new',
        config: { answersFrom: folderOf('old') },
      });
      return sourcesOn();
    },
    /eval run new refers to it \(0\.config\.answersFrom\).*results delete new/,
  ],
  [
    'whose answers another one took',
    () => {
      write(join(folderOf('new'), 'gsm8k', 'journal', 'plan.json'), { answers: { folder: folderOf('old') } });
      return sourcesOn();
    },
    /eval run new refers to it/,
  ],
  [
    'that was judged again',
    () => {
      const request = { samplesFrom: folderOf('old') };
      write(join(folderOf('new'), 'gsm8k', 'journal', 'plan.json'), { request });
      return sourcesOn();
    },
    /eval run new refers to it \(1\.request\.samplesFrom\)/,
  ],
  [
    'of which a backfill under way has scores',
    () => {
      writeBackfill('present');
      return sourcesOn(new FakeServer({ 'backfill/all': { status: 'RUNNING' } }).link);
    },
    /backfill all refers to it \(cells\.0\.place\): it is under way: wait for its end/,
  ],
  [
    'of which a backfill has scores that may go on',
    () => {
      writeBackfill('present', 'running');
      return sourcesOn();
    },
    /backfill all refers to it \(cells\.0\.place\): no server says whether it goes on/,
  ],
  [
    'that a schedule holds others against',
    () => {
      write(join(createCanaryStore(root, 'nightly').folder, 'pin.json'), { evalRun: 'old' });
      return sourcesOn(SERVER_AWAY, ['nightly']);
    },
    /schedule nightly refers to it \(pin\.evalRun\).*schedule delete nightly/,
  ],
  [
    'that a training run reads',
    () => {
      write(join(root, 'runs', 'mine', 'config.json'), {
        dataset: { path: join(folderOf('old'), 'rows.jsonl') },
      });
      return sourcesOn();
    },
    /run mine refers to it \(dataset\.path\).*runs delete mine/,
  ],
])('an eval run %s is kept', async (_, arrange, reason) => {
  const sources = arrange();

  const [plan] = await planResultsDeletion(sources, ['old']);

  expect(plan?.heldBy).toEqual([expect.stringMatching(reason)]);
  await expect(deleteResults(sources, ['old'])).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(reason) as string,
  });
  expect(existsSync(join(folderOf('old'), 'gsm8k', 'result.json'))).toBe(true);
});

test('a schedule that was deleted, and one of a name that begins alike, hold nothing', async () => {
  write(join(createCanaryStore(root, 'gone').folder, 'pin.json'), { evalRun: 'old' });
  write(join(folderOf('new'), 'metadata.json'), {
    run_id: 'new',
    config: { answersFrom: `${folderOf('old')}er` },
  });

  expect((await planResultsDeletion(sourcesOn(SERVER_AWAY, []), ['old']))[0]?.heldBy).toEqual([]);
});

test('what is deleted together does not hold one another, and whoever refers goes first', async () => {
  write(join(folderOf('new'), 'metadata.json'), { run_id: 'new', config: { answersFrom: folderOf('old') } });
  store('third');
  write(join(folderOf('third'), 'metadata.json'), {
    run_id: 'third',
    config: { answersFrom: folderOf('new') },
  });

  await expect(deleteResults(sourcesOn(), ['old', 'new'])).rejects.toThrow('eval run third refers to it');
  expect(readdirSync(join(root, 'evals')).sort()).toEqual(['new', 'old', 'third']);

  await deleteResults(sourcesOn(), ['old', 'new', 'third']);
  expect(readdirSync(join(root, 'evals'))).toEqual([]);
});

test('of two who delete the same in the same moment, one has freed it', async () => {
  const { bytes, files } = await sizeOfFolder(folderOf('old'));

  const both = await Promise.allSettled([
    deleteResults(sourcesOn(), ['old']),
    deleteResults(sourcesOn(), ['old']),
  ]);

  const freed = both.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  expect(freed.map((each) => each.bytes).sort()).toEqual(freed.length > 1 ? [0, bytes].sort() : [bytes]);
  expect(freed.reduce((sum, each) => sum + each.files, 0)).toBe(files);
});

test.each(['..', '../evals/old', 'a/b', '.hidden', '/etc'])('no name leaves the store: %j', async (name) => {
  await expect(deleteResults(sourcesOn(), ['old', name])).rejects.toMatchObject({ code: 'bad-config' });
  expect(existsSync(folderOf('old'))).toBe(true);
});

test('an unknown name is refused with the nearest one, and nothing goes', async () => {
  await expect(deleteResults(sourcesOn(), ['new', 'oldd'])).rejects.toMatchObject({
    code: 'unknown-run',
    message: expect.stringContaining('Did you mean "old"?') as string,
  });
  expect(readdirSync(join(root, 'evals')).sort()).toEqual(['new', 'old']);
});

test('no link is followed', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'everstep-outside-'));
  writeFileSync(join(outside, 'kept'), 'x');
  symlinkSync(outside, join(folderOf('old'), 'link'));

  await deleteResults(sourcesOn(), ['old']);
  expect(readdirSync(outside)).toEqual(['kept']);

  rmSync(outside, { recursive: true });
  renameSync(join(root, 'evals'), outside);
  symlinkSync(outside, join(root, 'evals'));
  await expect(deleteResults(sourcesOn(), ['new'])).rejects.toThrow('nothing is deleted through it');
  expect(existsSync(join(outside, 'new', 'gsm8k', 'result.json'))).toBe(true);
  rmSync(outside, { recursive: true });
});

test('a backfill that has ended holds nothing: the same command looks for its cells anew', async () => {
  writeBackfill('present', 'failed');
  expect(await planResultsDeletion(sourcesOn(), ['old'])).toMatchObject([{ heldBy: [] }]);

  // Cut off when its server was lost.
  writeBackfill('present', 'running');
  const server = new FakeServer({ 'backfill/all': { status: 'FAILED' } });
  expect(await deleteResults(sourcesOn(server.link), ['old'])).toMatchObject([{ run: 'old', heldBy: [] }]);
});

test('what nobody can read in a store keeps nothing else from being deleted', async () => {
  symlinkSync('loop', join(root, 'evals', 'loop'));
  symlinkSync('loop', join(folderOf('new'), 'loop'));
  symlinkSync('loop', join(folderOf('old'), 'loop'));
  for (const place of [
    ['evals', 'pipe', 'metadata.json'],
    ['backfills', 'pipe.json'],
    ['schedules', 'pipe', 'pin.json'],
  ]) {
    mkdirSync(dirname(join(root, ...place)), { recursive: true });
    execFileSync('mkfifo', [join(root, ...place)]);
  }

  expect(await deleteResults(sourcesOn(), ['old'])).toMatchObject([{ run: 'old', heldBy: [] }]);

  expect(readdirSync(join(root, 'evals'))).toEqual(['loop', 'new', 'pipe']);
});

test('an eval run that is a link to itself is deleted where a server says that nothing of it goes on', async () => {
  symlinkSync('loop', join(root, 'evals', 'loop'));

  await deleteResults(sourcesOn(new FakeServer({}).link), ['loop']);

  expect(readdirSync(join(root, 'evals'))).toEqual(['new', 'old']);
});

test('the command’s document names commands as its text does: as they can be typed here', async () => {
  write(join(folderOf('new'), 'metadata.json'), { run_id: 'new', config: { answersFrom: folderOf('old') } });
  let stdout = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  const places = ['--store', root, '--data-dir', join(root, 'data')];

  await createResults().parseAsync(['delete', 'old', '--json', ...places], { from: 'user' });

  expect(JSON.parse(stdout)).toMatchObject({
    results: [{ heldBy: [expect.stringContaining('`npx everstep results delete new`')] }],
  });
});

test('the command deletes with --yes alone, says how much it frees, and has the library’s document', async () => {
  let stdout = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  const run = async (...words: readonly string[]) => {
    stdout = '';
    const places = ['--store', root, '--data-dir', join(root, 'data')];
    await createResults().parseAsync(['delete', ...words, ...places], { from: 'user' });
    return stdout;
  };
  const everstep = await Everstep.connect({ store: root, temporal: null });
  const results = await everstep.evaluations.planDeletion(['old', 'new']);

  expect(await run('old', 'new')).toMatch(
    /Would delete old: .*3 files, [\d.]+ kB\.\nWould delete new:.*\nTogether .*kB/,
  );
  await run('old', 'new', '--yes', '--dry-run');
  expect(existsSync(folderOf('old'))).toBe(true);
  expect(JSON.parse(await run('old', 'new', '--yes', '--json'))).toMatchObject({ results, deleted: true });
  expect(readdirSync(join(root, 'evals'))).toEqual([]);
  await everstep.close();
});
