import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardAttempt } from '../../../src/evaluation/attempt-guard';

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-attempt-'));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const { signal } = new AbortController();
/** Nobody was blamed for anything. */
const known = { subject: 'it', givenUpPath: '/nowhere/given-up.json' };

/** As the work of a process, which has suspects of its own. */
async function inProcess<Result>(work: (guard: typeof guardAttempt) => Promise<Result>): Promise<Result> {
  let guard = guardAttempt;
  jest.isolateModules(() => {
    // oxlint-disable-next-line typescript/no-require-imports -- what `import` would have typed
    const own = require('../../../src/evaluation/attempt-guard') as { guardAttempt: typeof guardAttempt };
    guard = own.guardAttempt;
  });
  return work(guard);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

function markOf(folder: string): { readonly deaths?: number; readonly isAlone?: boolean } {
  const path = join(folder, 'attempt.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {};
}

/** A process that dies, after so many deaths before, while the first of these is at work and the others are begun behind it. */
function die(deaths: number, ...places: readonly string[]): Promise<void> {
  return inProcess(async (guard) => {
    for (const [index, folder] of places.entries()) {
      let isAtWork = false;
      void guard({ ...known, folder, signal }, () => {
        isAtWork = true;
        return new Promise<never>(() => undefined);
      });
      const isBegun = () => markOf(folder).deaths === deaths;
      await until(() => (index === 0 ? isAtWork : isBegun()));
      expect(markOf(folder)).toMatchObject({ deaths });
    }
  });
}

function attempt<Result>(folder: string, work: (isTakenUp: boolean) => Promise<Result>): Promise<Result> {
  return inProcess((guard) => guard({ ...known, folder, signal }, ({ isTakenUp }) => work(isTakenUp)));
}

test('gives up after five deaths in a row without anything new, three of them alone', async () => {
  const folder = newFolder();
  for (let death = 0; death < 5; death++) await die(death, folder);

  await expect(attempt(folder, async () => 1)).rejects.toThrow(
    /died 5 times in a row while this evaluator ran, .* 3 of them while no other that was suspected did/,
  );
});

test('those that others die with are not given up: suspects have their turns, one at a time', async () => {
  const [deadly, honest] = [newFolder(), newFolder()];
  // The first in the queue is at work when the process dies; the other only waits.
  for (let death = 0; death < 5; death++) await die(death, deadly, honest);

  await expect(attempt(deadly, async () => 1)).rejects.toThrow('died 5 times in a row');
  await expect(attempt(honest, async () => 1)).resolves.toBe(1);
});

test('a suspect that is called off while it waits for its turn is not begun', async () => {
  const [first, second] = [newFolder(), newFolder()];
  for (let death = 0; death < 2; death++) await die(death, first, second);
  const controller = new AbortController();

  await inProcess(async (guard) => {
    void guard({ ...known, folder: first, signal }, () => new Promise<never>(() => undefined));
    await until(() => markOf(first).isAlone === true);
    const waiting = guard({ ...known, folder: second, signal: controller.signal }, async () => 1);
    controller.abort(new Error('called off'));
    await expect(waiting).rejects.toThrow('called off');
  });
});

test('deaths of an evaluation that gets on do not count', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'answers.jsonl'), '');
  for (let death = 0; death < 8; death++) {
    await die(0, folder);
    appendFileSync(join(folder, 'answers.jsonl'), '{}\n');
  }

  await expect(attempt(folder, async () => 1)).resolves.toBe(1);
});

test('an attempt that ends by itself leaves no mark, however it ends', async () => {
  const folder = newFolder();
  await die(0, folder);

  await attempt(folder, async () => 1);
  await expect(attempt(folder, async () => Promise.reject(new Error('no')))).rejects.toThrow('no');

  expect(readdirSync(folder)).toEqual([]);
});

test('work is told whether the worker before was lost with it', async () => {
  const folder = newFolder();
  const isTakenUp = () => attempt(folder, (taken) => Promise.resolve(taken));

  expect(await isTakenUp()).toBe(false);
  await die(0, folder);
  expect(await isTakenUp()).toBe(true);
  expect(await isTakenUp()).toBe(false);
});

test.each([
  [11_000, true],
  [9000, false],
])(
  'an attempt that is called off counts as a death where it did nothing else for %s ms: %s',
  async (ms, isDeath) => {
    const folder = newFolder();
    const called = new AbortController();
    let time = 0;
    const working = guardAttempt(
      { ...known, folder, signal: called.signal, now: () => time },
      ({ signal: own }) => {
        time += ms;
        called.abort(new Error('lost'));
        return Promise.reject(own.reason instanceof Error ? own.reason : new Error('not called off'));
      },
    );

    await expect(working).rejects.toThrow('lost');
    expect(await attempt(folder, (isTakenUp) => Promise.resolve(isTakenUp))).toBe(isDeath);
  },
);
