import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { RegradeOptions } from '../../../src/client/regrade';
import { allowNamed } from '../../../src/client/allow-named';
import { regradeRequests } from '../../../src/client/regrade';
import { IDENTITY } from './some-identity';

let store: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-regrade-'));
});

afterEach(() => {
  rmSync(store, { recursive: true });
});

/** What a plan may say of a run that was copied here. */
interface PlannedRun {
  readonly run: string;
  readonly folder: string;
  readonly plugins?: string;
  readonly samplesFrom?: string;
}

async function requestsOf(name: string, request: PlannedRun, options: Partial<RegradeOptions> = {}) {
  const folder = join(store, name);
  const benchmark = 'arithmetic';
  const plan = { benchmark, request, identity: IDENTITY, shards: [{}], exampleCount: 1, numSamples: 1 };
  mkdirSync(join(folder, benchmark, 'journal'), { recursive: true });
  writeFileSync(join(folder, benchmark, 'journal', 'plan.json'), JSON.stringify(plan));
  return regradeRequests({ folder, ...options }, join(store, 'state'));
}

const runOf = async (name: string, request: PlannedRun) =>
  (await requestsOf(name, request)).map(({ run }) => run);

function codeAt(name: string): string {
  const file = join(store, name);
  writeFileSync(file, 'exports.benchmarks = {};');
  return file;
}

test('a run is regraded under its name; one that was copied here under that of its folder', async () => {
  expect(await runOf('own', { run: 'mine', folder: join(store, 'own') })).toEqual(['mine']);
  expect(await runOf('copied', { run: 'evil', folder: '/elsewhere/evil' })).toEqual(['copied']);
  expect(await runOf('a copy', { run: 'other', folder: '/elsewhere/other' })).toEqual(['other']);
});

describe('code that a plan names', () => {
  const asked = (plugins: string, options: Partial<RegradeOptions> = {}) =>
    requestsOf('theirs', { run: 'theirs', folder: join(store, 'theirs'), plugins }, options);

  test('is refused where no command named it, however its path is written', async () => {
    const file = codeAt('strange.js');

    const here = relative(process.cwd(), file);
    const elsewhere = [`/proc/self/root${file}`, `/proc/thread-self/root${file}/`, `/dev/fd/../..${file}`];
    for (const plugins of [file, here, `${file}/`, `${store}/nope/../strange.js`, ...elsewhere]) {
      await expect(asked(plugins)).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringMatching(/made with the plug-in file .*strange\.js.*--plugins FILE/) as string,
      });
    }
  });

  test('goes on where one named it before, or this one does, and where it is not here', async () => {
    const file = codeAt('own.js');
    const gone = join(store, 'gone.js');

    await expect(asked(file, { plugins: file })).resolves.toMatchObject([{ plugins: file }]);
    await expect(asked(gone)).resolves.toMatchObject([{ plugins: gone }]);
    await expect(asked(file)).rejects.toThrow(/no command/);
    allowNamed(join(store, 'state'), { plugins: file });
    await expect(asked(file)).resolves.toMatchObject([{ plugins: file }]);
  });
});

test('of a plan that is another benchmark’s, or names answers of another eval run, neither is believed', async () => {
  const own = { run: 'mine', folder: join(store, 'mine') };
  const [request] = await requestsOf('mine', { ...own, samplesFrom: '/somebody/private' });
  expect(request).not.toHaveProperty('samplesFrom');

  renameSync(join(store, 'mine', 'arithmetic'), join(store, 'mine', 'mmlu_pro'));
  await expect(regradeRequests({ folder: own.folder }, join(store, 'state'))).rejects.toThrow(/no journal/);
});

test('a plan that does not say what its result is made of is refused by name', async () => {
  await requestsOf('mine', { run: 'mine', folder: join(store, 'mine') });
  const plan = join(store, 'mine', 'arithmetic', 'journal', 'plan.json');
  writeFileSync(plan, readFileSync(plan, 'utf8').replace('"graderVersion":"g"', '"graderVersion":7'));

  await expect(regradeRequests({ folder: join(store, 'mine') }, store)).rejects.toThrow(
    /plan\.json does not say/,
  );
});
