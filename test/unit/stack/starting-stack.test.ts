import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Everstep } from '../../../src/client/everstep';
import { takePidLock } from '../../../src/stack/pid-lock';
import type { LockNotes, PidLock } from '../../../src/stack/pid-lock';
import { ownIdentity } from '../../../src/stack/process-identity';
import { spacedProgress } from '../../../src/stack/progress';
import { stackPlaces, writeStackRecord } from '../../../src/stack/stack-record';
import { PREPARING, waitForStartingStack } from '../../../src/stack/starting-stack';

let folder = '';
let lines: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-use-'));
  lines = [];
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const progress = spacedProgress((line) => lines.push(line));
const wait = (graceMs: number, limitMs?: number) =>
  waitForStartingStack(folder, { progress, graceMs, ...(limitMs !== undefined && { limitMs }) });

async function takeLock(notes: LockNotes = {}): Promise<PidLock> {
  const attempt = await takePidLock(stackPlaces(folder).lock, { notes });
  if ('holder' in attempt) throw new Error('the lock is taken');
  return attempt.lock;
}

function becomeReady(): void {
  writeStackRecord(folder, {
    ...ownIdentity(),
    ...{ ready: true, kind: 'dev', temporalAddress: '127.0.0.1:1', namespace: 'everstep', uiUrl: null },
    ...{ engineUrl: 'http://127.0.0.1:2', store: folder, children: [] },
  });
}

test('waits for the stack whose lock is held, and says so once', async () => {
  await takeLock();
  setTimeout(becomeReady, 300);

  expect(await wait(0)).toMatchObject({ kind: 'dev', ready: true });
  expect(lines).toEqual(['Waiting for the stack that is starting…']);
});

test('waits for one that takes its lock a moment later', async () => {
  setTimeout(() => {
    void takeLock().then(becomeReady);
  }, 200);

  expect(await wait(2000)).toMatchObject({ kind: 'dev' });
});

test('gives up when the one that was starting has gone', async () => {
  const lock = await takeLock();
  setTimeout(() => {
    lock.release();
  }, 200);

  expect(await wait(0)).toBeNull();
});

test('does not count what goes before the start, however long, and shows it', async () => {
  const lock = await takeLock({ ...PREPARING, shown: 'Building the Temporal CLI with Go (1 s)' });
  const waiting = wait(0, 50);
  await new Promise((resolve) => setTimeout(resolve, 400));
  becomeReady();

  expect(await waiting).toMatchObject({ kind: 'dev' });
  expect(lines).toEqual(['Waiting for the stack that is starting: Building the Temporal CLI with Go (1 s)']);
  lock.release();
});

test('gives up a start that takes too long', async () => {
  await takeLock();

  expect(await wait(0, 50)).toBeNull();
});

test('does not wait where nobody starts one', async () => {
  expect(await wait(0)).toBeNull();
  expect(lines).toEqual([]);
});

test('the library waits for it when it connects', async () => {
  await takeLock();
  let isReady = false;
  setTimeout(() => {
    becomeReady();
    isReady = true;
  }, 300);

  const everstep = await Everstep.connect({ dataFolder: folder });

  expect(isReady).toBe(true);
  await everstep.close();
});

test('a wait for somebody who has not begun to start can be called off', async () => {
  const controller = new AbortController();
  const waiting = waitForStartingStack(folder, { progress, graceMs: 60_000, signal: controller.signal });
  controller.abort(new Error('called off'));

  await expect(waiting).rejects.toThrow('called off');
});
