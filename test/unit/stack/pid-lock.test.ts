import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { findLockHolder, readLock, takePidLock } from '../../../src/stack/pid-lock';
import { identifyProcess, ownIdentity } from '../../../src/stack/process-identity';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-lock-'));
  file = path.join(folder, 'nested', 'a.lock');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The number of a process that has just ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

async function writeLock(content: unknown): Promise<void> {
  const first = await takePidLock(file);
  if ('lock' in first) first.lock.release();
  writeFileSync(file, JSON.stringify(content));
}

test('tells who holds it', async () => {
  await takePidLock(file, { notes: { port: 7233 } });

  const second = await takePidLock(file);

  expect(second).toEqual({ holder: { ...ownIdentity(), isPlaced: true, notes: { port: 7233 } } });
});

test('comes with a folder that is moved, and not with one that is copied', async () => {
  await takePidLock(file);
  const [copy, moved] = ['copy', 'moved'].map((name) => path.join(folder, name, 'a.lock'));
  cpSync(path.dirname(file), path.join(folder, 'copy'), { recursive: true });
  const left = jest.fn<Promise<void>, []>();

  expect(findLockHolder(copy ?? '')).toBeNull();
  expect(await takePidLock(copy ?? '', { onStale: left })).toHaveProperty('lock');
  expect(left).not.toHaveBeenCalled();

  renameSync(path.dirname(file), path.join(folder, 'moved'));
  expect(findLockHolder(moved ?? '')).toMatchObject(ownIdentity());
});

test('can be taken again after its release', async () => {
  const first = await takePidLock(file);
  if ('lock' in first) first.lock.release();

  expect(existsSync(file)).toBe(false);
  expect(await takePidLock(file)).toHaveProperty('lock');
});

test('is taken over at once from a process that is gone, whose notes are shown first', async () => {
  await writeLock({ pid: deadPid(), startedAt: '1', notes: { serverPid: 42 } });
  const left: unknown[] = [];

  const attempt = await takePidLock(file, {
    onStale: async (holder) => {
      left.push(holder.notes);
    },
  });

  expect(attempt).toHaveProperty('lock');
  expect(left).toEqual([{ serverPid: 42 }]);
});

test('is not held by a later process that got the number of its holder', async () => {
  await writeLock({ pid: process.pid, startedAt: 'long ago', notes: {} });

  expect(findLockHolder(file)).toBeNull();
  expect(await takePidLock(file)).toHaveProperty('lock');
});

test('survives a torn file', async () => {
  await writeLock('');
  writeFileSync(file, '{"pid":');

  expect(readLock(file)).toBeNull();
  expect(await takePidLock(file)).toHaveProperty('lock');
});

test('goes to exactly one of many who find it stale at the same time', async () => {
  await writeLock({ pid: deadPid(), startedAt: '1', notes: {} });

  const attempts = await Promise.all(Array.from({ length: 20 }, () => takePidLock(file)));

  expect(attempts.filter((attempt) => 'lock' in attempt)).toHaveLength(1);
});

test('identifies no process that has ended', () => {
  expect(identifyProcess(deadPid())).toBeNull();
  expect(identifyProcess(process.pid)?.pid).toBe(process.pid);
});

test('a takeover that came with its folder, from any time to come, holds nobody', async () => {
  await writeLock({});
  mkdirSync(`${file}.takeover`);
  utimesSync(`${file}.takeover`, 4_102_444_800, 4_102_444_800);

  expect(await takePidLock(file)).toHaveProperty('lock');
});
