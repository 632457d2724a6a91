import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SampleCount } from '../../../../src/evaluation/inspect/run/inspect-process';
import { refusalIn, runInspect } from '../../../../src/evaluation/inspect/run/inspect-process';
import type { SetupOptions } from '../../../../src/evaluation/inspect/run/python-environment';
import {
  findInspectEnvironment,
  setUpInspect,
} from '../../../../src/evaluation/inspect/run/python-environment';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everstep-inspect-process-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A program in place of Python, which is given the launcher and the words. */
async function program(script: string): Promise<string> {
  const file = path.join(folder, 'python');
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

interface RunChanges {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onSamples?: (count: SampleCount) => void;
}

function run(python: string, options: RunChanges = {}) {
  const { signal = new AbortController().signal, timeoutMs = 20_000, onSamples } = options;
  return runInspect({
    python,
    words: ['eval'],
    variables: { PATH: '/usr/bin:/bin', ONLY: 'this' },
    folder,
    signal,
    timeoutMs,
    graceMs: 500,
    ...(onSamples && { onSamples }),
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync(`/proc/${pid}`) || !/\) Z /.test(statOf(pid));
  } catch {
    return false;
  }
}

function statOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'utf8');
}

test('gives the exit code and the last words, and an environment with nothing else in it', async () => {
  const { code, tail } = await run(await program('env; echo trouble >&2; exit 3'));

  expect(code).toBe(3);
  expect(tail).toContain('ONLY=this');
  expect(tail).toContain('trouble');
  expect(tail).not.toContain('HOME=');
});

test.each([
  ['the signal fires', () => ({ signal: AbortSignal.timeout(500) })],
  ['it takes too long', () => ({ timeoutMs: 500 })],
])('ends everything it started when %s', async (_when, options) => {
  const file = path.join(folder, 'pid');
  const python = await program(`trap '' INT TERM; sleep 300 & echo $! > "${file}"; wait`);

  await expect(run(python, options())).rejects.toThrow();

  const pid = Number(await readFile(file, 'utf8'));
  for (let look = 0; isAlive(pid) && look < 100; look++) await delay(50);
  expect(isAlive(pid)).toBe(false);
});

test('it is asked to end before it is killed, and may clean up', async () => {
  const file = path.join(folder, 'cleaned');
  const python = await program(`trap 'echo yes > "${file}"; exit 0' INT; while :; do sleep 0.05; done`);

  await expect(run(python, { timeoutMs: 500 })).rejects.toThrow('took more than 0.5 s');

  expect(await readFile(file, 'utf8')).toBe('yes\n');
});

test('tells how many samples are done, and passes over what is no count', async () => {
  const counts: SampleCount[] = [];
  const lines = ['{"done":0,"total":6}', 'noise', '{"done":-1,"total":6}', '{"done":1,"total":6}'];
  const script = lines.map((line) => `echo '${line}' >&3`).join('\n');

  await run(await program(`${script}\nsleep 0.2`), { onSamples: (count) => counts.push(count) });

  expect(counts).toEqual([
    { done: 0, total: 6 },
    { done: 1, total: 6 },
  ]);
});

test('what the launcher refuses is told from what Inspect ends with', async () => {
  const words = 'printf "warning\neverstep: there is no argument cuont.\n" >&2';

  const refused = await run(await program(`${words}; exit 64`));
  const failed = await run(await program(`${words}; exit 1`));

  expect(refusalIn(refused)).toBe('there is no argument cuont.');
  expect(refusalIn(failed)).toBeNull();
});

test('says what killed it', async () => {
  const end = await run(await program('kill -9 $$'));

  expect(end).toMatchObject({ code: null, killedBy: 'SIGKILL' });
});

test('what outlives the process is ended too', async () => {
  const file = path.join(folder, 'pid');
  await run(await program(`sleep 300 & echo $! > "${file}"`));

  const pid = Number(await readFile(file, 'utf8'));
  for (let look = 0; isAlive(pid) && look < 100; look++) await delay(50);
  expect(isAlive(pid)).toBe(false);
});

test('without an environment the remedy is named', async () => {
  await expect(findInspectEnvironment(folder)).rejects.toThrow('everstep inspect setup');
});

test('an interpreter without Inspect is refused with what to install', async () => {
  const python = await program('exit 1');

  const setup = setUpInspect({
    cacheFolder: folder,
    variables: {},
    python,
    extraPackages: [],
    onProgress: () => undefined,
  });

  await expect(setup).rejects.toThrow('-m pip install inspect-ai');
});

test('an interpreter of ones own is remembered', async () => {
  const python = await program('echo 0.3.285');
  await setUpInspect({
    cacheFolder: folder,
    variables: {},
    python,
    extraPackages: [],
    onProgress: () => undefined,
  });

  const found = await findInspectEnvironment(folder);

  expect(found).toEqual({ python, inspectVersion: '0.3.285', packages: null, variables: [] });
});

function setUp(options: Partial<SetupOptions>) {
  return setUpInspect({
    cacheFolder: folder,
    variables: {},
    extraPackages: [],
    onProgress: () => undefined,
    ...options,
  });
}

test('variables that tasks get are remembered by name, and the environment stays the one that is there', async () => {
  const python = await program('echo 0.3.285');
  await setUp({ python });

  const named = await setUp({ passed: ['OPENAI_API_KEY', 'HF_TOKEN', 'HF_TOKEN'] });
  const again = await setUp({ python });
  const cleared = await setUp({ passed: [] });

  expect(named).toMatchObject({ python, variables: ['HF_TOKEN', 'OPENAI_API_KEY'], isNew: false });
  expect(again.variables).toEqual(['HF_TOKEN', 'OPENAI_API_KEY']);
  expect(cleared.variables).toEqual([]);
});

test.each([
  ['a value is no name and is not repeated', 'HF_TOKEN=hf_secret', 'name of a variable alone'],
  ['what a task is run with is ours', 'EVERSTEP_API_KEY', 'Leave it out'],
])('%s', async (_rule, name, words) => {
  const setup = setUp({ passed: [name] });

  await expect(setup).rejects.toThrow(words);
  await expect(setup).rejects.not.toThrow('hf_secret');
});

test('where there is no Python at all, it says so', async () => {
  const setup = setUpInspect({
    ...{ cacheFolder: folder, variables: { PATH: folder }, extraPackages: [] },
    onProgress: () => undefined,
  });

  await expect(setup).rejects.toThrow('no python3 with venv');
});

/** Makes an environment as python3 does, and tells what pip tells. */
async function asPython3(venv: string): Promise<string> {
  const file = path.join(folder, 'python3');
  const made = `printf '#!/bin/sh\\nif [ "$1" = -c ]; then echo 0.3.285; exit; fi\\necho Collecting a; echo Installing collected packages: a\\n'`;
  const lines = [
    '#!/bin/sh',
    'if [ "$1" = -c ]; then echo 3 11; exit; fi',
    venv,
    `mkdir -p "$3/bin"; ${made} > "$3/bin/python"; chmod 755 "$3/bin/python"`,
  ];
  await writeFile(file, lines.join('\n'));
  await chmod(file, 0o755);
  return `${folder}:/usr/bin:/bin`;
}

test('installing tells its phases', async () => {
  const PATH = await asPython3('');
  const told: string[] = [];

  await setUp({ variables: { PATH }, onProgress: (text) => told.push(text) });

  expect(told.map((text) => text.trim().split(/[ :]/)[0])).toEqual(['1', '2', 'downloaded;', '3']);
  expect(told.join()).toContain('MB');
});

test.each([
  ['lies below what is no folder', 'file/cache'],
  ['is no folder', 'file'],
])('a cache folder that %s is named with the variable that moves it', async (_what, name) => {
  await writeFile(path.join(folder, 'file'), '');
  const PATH = await asPython3('');
  const cacheFolder = path.join(folder, name);

  const setup = setUp({ cacheFolder, variables: { PATH } });

  await expect(setup).rejects.toThrow(`The cache folder ${cacheFolder} cannot be written`);
  await expect(setup).rejects.toThrow('XDG_CACHE_HOME');
});

test('an environment that cannot be made does not blame the index of packages', async () => {
  const PATH = await asPython3('echo no space left; exit 1');

  const setup = setUp({ variables: { PATH } });

  await expect(setup).rejects.toThrow(/no space left.*XDG_CACHE_HOME/);
  await expect(setup).rejects.not.toThrow('PyPI');
});
