import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommand } from '../../../src/cli/commands/dev';
import { identifyProcess, isRunning } from '../../../src/stack/process-identity';
import type { ProcessIdentity } from '../../../src/stack/process-identity';
import { addClient, stackPlaces, writeStackRecord } from '../../../src/stack/stack-record';
import type { StackRecord } from '../../../src/stack/stack-record';
import { stopStack } from '../../../src/stack/stop-stack';

let folder = '';
let children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-stop-'));
  children = [];
});

afterEach(() => {
  jest.restoreAllMocks();
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A process in a group of its own that lives until it is asked to end, and not even then where it is deaf. */
async function living({ isDeaf = false } = {}): Promise<ProcessIdentity> {
  const ending = isDeaf ? '' : 'process.exit()';
  const program = `process.on('SIGTERM', () => { ${ending} }); setInterval(() => {}, 1e6); console.log('up')`;
  const child = spawn(process.execPath, ['-e', program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const identity = identifyProcess(child.pid ?? 0);
  if (identity === null) throw new Error('it has not started');
  return identity;
}

function onRecord(pid: ProcessIdentity, more: Partial<StackRecord> = {}): void {
  writeStackRecord(folder, {
    ...pid,
    ...{ ready: true, kind: 'dev', temporalAddress: '127.0.0.1:1', namespace: 'everstep', uiUrl: null },
    ...{ engineUrl: 'http://127.0.0.1:2', store: folder, children: [] },
    ...more,
  });
}

function holdLock(holder: ProcessIdentity): void {
  mkdirSync(folder, { recursive: true });
  const { lock } = stackPlaces(folder);
  writeFileSync(lock, '');
  const place = { path: lock, inode: String(statSync(lock).ino) };
  writeFileSync(lock, JSON.stringify({ ...holder, notes: {}, place }));
}

test('ends the supervisor and what it has left behind, and says which they were', async () => {
  const [dev, worker] = await Promise.all([living(), living()]);
  holdLock(dev);
  onRecord(dev, { children: [{ name: 'worker', ...worker }] });

  const stopped = await stopStack(folder);

  expect(stopped).toMatchObject({ pid: dev.pid, services: [{ name: 'worker', pid: worker.pid }] });
  expect([dev, worker].filter(isRunning)).toEqual([]);
});

test('ends what a killed supervisor left, also what does not react', async () => {
  const [worker, deaf] = await Promise.all([living(), living({ isDeaf: true })]);
  const dead = { pid: 999_999_999, startedAt: '1' };
  holdLock(dead);
  const services = [
    { name: 'worker', ...worker },
    { name: 'engine', ...deaf },
  ];
  onRecord(dead, { children: services });

  expect(await stopStack(folder)).toMatchObject({ pid: null, services });
  expect([worker, deaf].filter(isRunning)).toEqual([]);
});

test.each(['1', 'unknown'])(
  'leaves a process alone that has got a number on record: started %s',
  async (startedAt) => {
    const [first, second] = await Promise.all([living(), living()]);
    holdLock({ ...first, startedAt });
    onRecord({ ...first, startedAt }, { children: [{ name: 'worker', ...second, startedAt }] });

    expect(await stopStack(folder)).toEqual({ pid: null, services: [] });
    expect([first, second].filter(isRunning)).toHaveLength(2);
  },
);

test('refuses a stack that a command has brought and still uses', async () => {
  const dev = await living();
  holdLock(dev);
  onRecord(dev, { kind: 'until-idle' });
  addClient(folder, 'train mine');

  await expect(stopStack(folder)).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining(`\`train mine\` (process ${process.pid})`) as string,
  });
  expect(isRunning(dev)).toBe(true);
});

describe('everstep dev stop', () => {
  async function said(...words: readonly string[]): Promise<string> {
    let text = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    await createCommand().parseAsync([...words], { from: 'user' });
    return text;
  }

  test('says that nothing runs, wherever the folder is named', async () => {
    const expected = `No dev runs in ${folder}: there is nothing to stop.\n`;

    expect(await said('stop', '--data-dir', folder)).toBe(expected);
    expect(await said('--data-dir', folder, 'stop')).toBe(expected);
  });

  test('says what it has ended', async () => {
    const [dev, worker] = await Promise.all([living(), living()]);
    holdLock(dev);
    onRecord(dev, { children: [{ name: 'worker', ...worker }] });

    expect(await said('stop', '--data-dir', folder)).toBe(
      `Stopped dev (process ${dev.pid}) and its services: worker (${worker.pid}). Runs go on at the next start.\n`,
    );
  });
});

test('ends nobody for a lock that does not say where it was written', async () => {
  const dev = await living();
  writeFileSync(stackPlaces(folder).lock, JSON.stringify({ ...dev, notes: {} }));

  await expect(stopStack(folder)).rejects.toThrow(`kill ${dev.pid} ends it`);

  expect(isRunning(dev)).toBe(true);
});

test('ends nobody for a data folder of another user', async () => {
  const dev = await living();
  holdLock(dev);
  onRecord(dev);
  if (process.getuid?.() === 0) chownSync(folder, 54_321, 54_321);
  jest.spyOn(process, 'getuid').mockReturnValue(12_345);

  await expect(stopStack(folder)).rejects.toThrow(`${folder} belongs to another user`);

  expect(isRunning(dev)).toBe(true);
});
