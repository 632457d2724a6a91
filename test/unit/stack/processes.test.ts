import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isRunning, sendSignal, waitForExit } from '../../../src/stack/process-identity';
import { superviseService } from '../../../src/stack/processes';
import type { ServiceOptions, SupervisedService } from '../../../src/stack/processes';

let folder: string;
const started: SupervisedService[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-processes-'));
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.stop()));
  rmSync(folder, { recursive: true, force: true });
});

function supervise(changes: Partial<ServiceOptions> = {}): SupervisedService {
  const service = superviseService({
    name: 'worker',
    logFolder: path.join(folder, 'logs'),
    launcher: path.join(__dirname, 'fake-launcher.js'),
    prepare: async () => ({ args: ['worker'], variables: { FAKE_FOLDER: folder } }),
    onChange: () => undefined,
    onProgress: () => undefined,
    stopLimitMs: 500,
    ...changes,
  });
  started.push(service);
  return service;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('is ready with the first line that the service prints, which also goes to its log', async () => {
  const service = supervise();

  const line = await service.ready;

  expect(line).toContain(`worker ready ${service.process?.pid ?? 0}`);
  expect(readFileSync(path.join(folder, 'logs/worker.log'), 'utf8')).toContain(line);
});

test('starts a service killed by SIGKILL again', async () => {
  const service = supervise();
  await service.ready;
  const first = service.process;
  if (first === null) throw new Error('not running');

  sendSignal(first.pid, 'SIGKILL');
  await until(() => service.process !== null && service.process.pid !== first.pid);

  expect(isRunning(first)).toBe(false);
});

test('asks for the addresses again before each start', async () => {
  let startCount = 0;
  const service = supervise({
    prepare: async () => ({
      args: ['worker', '--start', String(++startCount)],
      variables: { FAKE_FOLDER: folder },
    }),
  });
  await service.ready;
  const first = service.process;

  sendSignal(first?.pid ?? 0, 'SIGKILL');

  await until(() => readFileSync(path.join(folder, 'logs/worker.log'), 'utf8').includes('--start 2'));
});

test('gives up a service that never becomes ready, and shows the end of its log', async () => {
  const service = supervise({
    prepare: async () => ({ args: ['worker'], variables: { FAKE_FOLDER: folder, FAKE_FAILURE: 'worker' } }),
  });

  await expect(service.ready).rejects.toThrow(
    /worker service does not start \(exit code 3\)[^]*cannot start today/,
  );
});

test('kills a service that does not obey SIGTERM after the limit', async () => {
  const service = supervise({
    prepare: async () => ({ args: ['worker'], variables: { FAKE_FOLDER: folder, FAKE_DEAF: 'worker' } }),
  });
  await service.ready;
  const running = service.process;
  if (running === null) throw new Error('not running');

  await service.stop();

  expect(await waitForExit(running, 1000)).toBe(true);
});

test('does not start a service again that was stopped while it waited for its restart', async () => {
  const service = supervise();
  await service.ready;
  const first = service.process;
  sendSignal(first?.pid ?? 0, 'SIGKILL');

  await service.stop();
  await new Promise((resolve) => setTimeout(resolve, 300));

  expect(service.process).toBeNull();
});

test('says why a service ended, by its log, and the same not over and over', async () => {
  const told: string[] = [];
  let startCount = 0;
  const reasons = ['database or disk is full (13)', 'database or disk is full (13)', 'the port 7 is taken.'];
  supervise({
    prepare: async () => {
      const reason = reasons[startCount++] ?? 'the port 8 is taken.';
      return {
        args: ['worker'],
        variables: { FAKE_FOLDER: folder, FAKE_END: 'worker', FAKE_REASON: reason },
      };
    },
    onProgress: (line) => told.push(line),
  });

  await until(() => told.length > 1);

  expect(startCount).toBeGreaterThan(2);
  expect(told[0]).toMatch(
    /^worker ended \(exit code 1\): database or disk is full \(13\); the disk of \S+ \([\d.]+ MB free\) took no more: .*\. Free some space; it is started again by itself\.$/,
  );
  expect(told[1]).toBe('worker ended (exit code 1): the port 7 is taken; starting it again.');
});

test('does not start a service again for which what stands in its way lasts', async () => {
  let startCount = 0;
  const lasting = new Error('damaged');
  const told: string[] = [];
  const service = supervise({
    prepare: async () => {
      startCount++;
      throw lasting;
    },
    isLasting: (error) => error === lasting,
    onProgress: (line) => told.push(line),
  });

  await expect(service.ready).rejects.toBe(lasting);
  // One whose failure does not last is started again meanwhile.
  let otherCount = 0;
  const other = supervise({
    prepare: async () => {
      otherCount++;
      throw new Error('away');
    },
    isLasting: () => false,
  });
  other.ready.catch(() => undefined);
  await until(() => otherCount > 2);

  expect([startCount, told]).toEqual([1, []]);
});
