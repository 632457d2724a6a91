import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Everstep } from '../../../src/client/everstep';
import { takePidLock } from '../../../src/stack/pid-lock';
import type { PidLock } from '../../../src/stack/pid-lock';
import { ownIdentity } from '../../../src/stack/process-identity';
import { stackPlaces, writeStackRecord } from '../../../src/stack/stack-record';
import { waitForStartingStack } from '../../../src/stack/starting-stack';

let folder = '';
let lines: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-use-'));
  lines = [];
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const wait = (graceMs: number) => waitForStartingStack(folder, (line) => lines.push(line), graceMs);

async function takeLock(): Promise<PidLock> {
  const attempt = await takePidLock(stackPlaces(folder).lock);
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
