import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { readEnvironment } from '../../../src/config/environment';
import type { Environment } from '../../../src/config/environment';
import { holdPort } from '../../../src/stack/free-port';
import { isRunning, sendSignal } from '../../../src/stack/process-identity';
import { SILENT_PROGRESS } from '../../../src/stack/progress';
import { runStack } from '../../../src/stack/stack';
import type { Stack, StackOptions } from '../../../src/stack/stack';
import { addClient, findStack, readStackRecord, writeStackRecord } from '../../../src/stack/stack-record';

let folder: string;
let stacks: Stack[];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-stack-'));
  stacks = [];
  const cli = path.join(folder, 'temporal');
  writeFileSync(cli, '#!/bin/sh\necho "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"\n');
  chmodSync(cli, 0o755);
});

afterEach(async () => {
  await Promise.all(stacks.map((stack) => stack.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const environmentOf = (dataDir: string): Environment =>
  readEnvironment({ dataDir }, { EVERSTEP_TEMPORAL_CLI: path.join(folder, 'temporal') });

async function start(changes: Partial<StackOptions> = {}): Promise<Stack> {
  const stack = await runStack({
    environment: environmentOf(folder),
    untilIdle: false,
    withUi: false,
    workerCount: 1,
    engineThreads: null,
    launcher: path.join(__dirname, 'fake-launcher.js'),
    progress: SILENT_PROGRESS,
    ...changes,
  });
  stacks.push(stack);
  return stack;
}

async function until<Value>(find: () => Value | null | undefined | false): Promise<Value> {
  for (;;) {
    const value = find();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a client that is dead left goes with each look for clients. */
async function looks(count: number): Promise<void> {
  const leftover = path.join(folder, 'clients', '999999999');
  for (let look = 0; look < count; look++) {
    writeFileSync(leftover, '');
    await until(() => !existsSync(leftover));
  }
}

const hasSaidReady = (name: string): boolean => {
  const log = path.join(folder, 'logs', `${name}.log`);
  return existsSync(log) && readFileSync(log, 'utf8').includes(`${name} ready`);
};

const childPid = (name: string): number =>
  findStack(folder)?.children.find((child) => child.name === name)?.pid ?? 0;

test('records its addresses and processes, tells the worker where they are, and refuses a second stack on its folder', async () => {
  const { record: own } = await start();
  const second = start();

  await expect(second).rejects.toThrow(new RegExp(`already running on .*process ${process.pid}`));
  const record = findStack(folder);
  expect(record?.pid).toBe(process.pid);
  expect(record?.temporalAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(record?.engineUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(record?.children.map((child) => child.name)).toEqual([
    'temporal',
    'engine',
    'worker',
    'worker-evaluations',
  ]);
  expect(record?.children.every(isRunning)).toBe(true);
  const log = readFileSync(path.join(folder, 'logs/worker.log'), 'utf8');
  expect(log).toContain(`--temporal-address ${own.temporalAddress}`);
  expect(log).toContain(`--local-engine ${own.engineUrl}`);
});

test('takes the place of a stack that commands have brought when the last of them ends, and stays', async () => {
  const removeClient = addClient(folder, 'eval of-a-run');
  const theirs = await start({ untilIdle: true });
  const notes: string[] = [];
  const waiting = start({ progress: { ...SILENT_PROGRESS, note: (line) => notes.push(line) } });
  await until(() => notes.length > 0);
  expect(findStack(folder)?.kind).toBe('until-idle');

  removeClient();
  await theirs.idle;
  const { record } = await waiting;
  expect(notes[0]).toMatch(
    /^`eval of-a-run` \(process \d+\) has a stack of its own there, .* takes its place/,
  );
  expect(record).toMatchObject({ kind: 'dev', temporalAddress: theirs.record.temporalAddress });
  expect(findStack(folder)?.kind).toBe('dev');
});

test('of two that wait for a stack of commands, one takes its place and the other is refused', async () => {
  const removeClient = addClient(folder, 'eval of-a-run');
  await start({ untilIdle: true });
  const notes: string[] = [];
  const progress = { ...SILENT_PROGRESS, note: (line: string) => notes.push(line) };
  const both = [start({ progress }), start({ progress })];
  const settled = Promise.allSettled(both);
  await until(() => notes.length > 1);

  removeClient();
  expect((await settled).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await expect(Promise.all(both)).rejects.toThrow('already running');
});

test('a wait for a stack of commands ends where it is called off', async () => {
  addClient(folder, 'eval of-a-run');
  await start({ untilIdle: true });
  const interruption = new AbortController();
  const waiting = start({ signal: interruption.signal });
  interruption.abort(new Error('Interrupted.'));

  await expect(waiting).rejects.toThrow('Interrupted.');
  expect(findStack(folder)?.kind).toBe('until-idle');
});

test('replaces each part that is killed, at the same address, and records it', async () => {
  const { temporalAddress, engineUrl } = (await start()).record;

  for (const name of ['worker', 'engine', 'temporal']) {
    const first = childPid(name);
    sendSignal(first, 'SIGKILL');
    const second = await until(() => childPid(name) !== first && childPid(name));

    expect(second).toBeGreaterThan(0);
    expect(findStack(folder)).toMatchObject({ temporalAddress, engineUrl });
  }
});

test('ends the worker before the engine and the engine before the server', async () => {
  const stack = await start();

  await stack.stop();

  const times = ['worker', 'engine', 'temporal'].map((name) =>
    BigInt(readFileSync(path.join(folder, `${name}.sigterm`), 'utf8')),
  );
  expect([...times].sort()).toEqual(times);
  expect(findStack(folder)).toBeNull();
});

test('uses the same ports at the next start, and another where somebody else has the old one', async () => {
  const first = await start();
  const { temporalAddress, engineUrl } = first.record;
  await first.stop();
  const second = await start();
  await second.stop();
  const squatter = createServer();
  await new Promise<void>((resolve) =>
    squatter.listen(Number(new URL(engineUrl).port), '127.0.0.1', resolve),
  );
  const third = await start();
  await new Promise((resolve) => squatter.close(resolve));

  expect(second.record).toMatchObject({ temporalAddress, engineUrl });
  expect(third.record.engineUrl).not.toBe(engineUrl);
});

test('two that start at once and want the same ports never meet', async () => {
  const first = await start();
  const { temporalAddress, engineUrl } = first.record;
  await first.stop();
  const folders = ['one', 'other'].map((name) => path.join(folder, name));
  const notes: string[] = [];

  const both = await Promise.all(
    folders.map((dataDir) => {
      mkdirSync(dataDir);
      writeStackRecord(dataDir, { ...first.record, dataFolder: dataDir });
      return start({
        environment: environmentOf(dataDir),
        progress: { ...SILENT_PROGRESS, note: (line) => notes.push(line) },
      });
    }),
  );

  const addresses = both.flatMap(({ record }) => [record.temporalAddress, record.engineUrl]);
  expect(new Set(addresses).size).toBe(4);
  expect(addresses).toEqual(expect.arrayContaining([temporalAddress, engineUrl]));
  expect(notes).toEqual([]);
});

test('keeps its port while the server is being started again', async () => {
  const { temporalAddress } = (await start()).record;
  const port = Number(temporalAddress.split(':')[1]);
  const server = childPid('temporal');
  sendSignal(server, 'SIGKILL');
  const other = await holdPort(port);
  other.release();
  await until(() => childPid('temporal') !== server && childPid('temporal'));

  expect(other.port).not.toBe(port);
  expect(findStack(folder)).toMatchObject({ temporalAddress });
});

test('goes by itself when its last client has gone, and not before', async () => {
  const removeClient = addClient(folder, 'train demo');
  const stack = await start({ untilIdle: true });
  await looks(5);
  expect(findStack(folder)?.kind).toBe('until-idle');

  removeClient();
  await stack.idle;

  expect(findStack(folder)).toBeNull();
  expect(existsSync(path.join(folder, 'temporal.sigterm'))).toBe(true);
});

test('leaves nothing running when a part cannot start', async () => {
  process.env['FAKE_FAILURE'] = 'worker';
  try {
    await expect(start()).rejects.toThrow(/worker(-evaluations)? service does not start/);
  } finally {
    delete process.env['FAKE_FAILURE'];
  }

  expect(existsSync(path.join(folder, 'engine.sigterm'))).toBe(true);
  expect(existsSync(path.join(folder, 'temporal.sigterm'))).toBe(true);
});

test('a start that is interrupted ends what it has begun, in order, before it says so', async () => {
  process.env['FAKE_SILENCE'] = 'worker';
  const interrupts = new AbortController();
  try {
    const starting = start({ signal: interrupts.signal });
    starting.catch(() => undefined);
    const children = await until(() => {
      const begun = readStackRecord(folder)?.children ?? [];
      return begun.length === 4 && ['engine', 'temporal'].every(hasSaidReady) && begun;
    });
    interrupts.abort(new Error('interrupted'));

    await expect(starting).rejects.toThrow('interrupted');
    expect(children.filter(isRunning)).toEqual([]);
  } finally {
    delete process.env['FAKE_SILENCE'];
  }

  expect(existsSync(path.join(folder, 'temporal.sigterm'))).toBe(true);
});

test('a database found damaged while the stack runs is told once, with the words of a start, and its server not started again', async () => {
  const notes: string[] = [];
  const stack = await start({ progress: { ...SILENT_PROGRESS, note: (line) => notes.push(line) } });
  const server = stack.record.children.find(({ name }) => name === 'temporal');
  writeFileSync(path.join(folder, 'temporal.db'), 'garbage');
  sendSignal(server?.pid ?? 0, 'SIGKILL');

  expect(String(await stack.failed)).toContain(
    'temporal.db, is damaged: it does not begin as SQLite files do. Runs are not lost',
  );
  const engine = stack.record.children.find(({ name }) => name === 'engine');
  sendSignal(engine?.pid ?? 0, 'SIGKILL');
  await until(() => stack.record.children.some(({ name, pid }) => name === 'engine' && pid !== engine?.pid));

  expect(notes.filter((line) => line.startsWith('temporal'))).toEqual([
    'temporal ended (SIGKILL); starting it again.',
  ]);
  expect(stack.record.children.map(({ name }) => name)).not.toContain('temporal');
});
