import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readEnvironment } from '../../../src/config/environment';
import { spacedProgress } from '../../../src/stack/progress';
import { listClients, readStackRecord } from '../../../src/stack/stack-record';
import { hasSupervisor } from '../../../src/stack/starting-stack';
import { goInstall } from '../../../src/stack/temporal-binary-sources';
import { useStack } from '../../../src/stack/use-stack';
import type { StackUse, UseStackOptions } from '../../../src/stack/use-stack';
import { installFakeGo } from './fake-go';
import type { FakeGo } from './fake-go';

let folder: string;
let progress: string[];
let go: FakeGo;
let uses: StackUse[];
const realPath = process.env['PATH'] ?? '';

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep use '));
  progress = [];
  uses = [];
  go = installFakeGo(folder);
  // Its own, without whatever CLI this machine has.
  process.env['PATH'] = `${go.folder}${path.delimiter}/bin`;
});

afterEach(async () => {
  go.finish();
  await Promise.all(uses.map((use) => use.release()));
  await until(() => go.compilers().length === 0 && !hasSupervisor(dataFolder()));
  process.env['PATH'] = realPath;
  rmSync(folder, { recursive: true, force: true });
});

const dataFolder = (): string => path.join(folder, 'data');

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Stands for the launcher: what its `dev` does is written in the test. */
function launcher(dev: string): string {
  const file = path.join(folder, 'launcher.js');
  writeFileSync(
    file,
    `const { readFileSync, readdirSync, renameSync, statSync, writeFileSync } = require('node:fs');
const folder = process.argv[process.argv.indexOf('--data-dir') + 1];
const stat = readFileSync('/proc/self/stat', 'utf8');
const identity = { pid: process.pid, startedAt: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] };
const inode = String(statSync(folder, { bigint: true }).ino);
const write = (name, value) => {
  writeFileSync(folder + '/' + name + '.new', JSON.stringify(value));
  renameSync(folder + '/' + name + '.new', folder + '/' + name);
};
${dev}`,
  );
  return file;
}

/** Ready at once, and gone with its last client. */
const READY = `
write('dev.lock', { ...identity, notes: {} });
write('stack.json', { ...identity, inode, ready: true, kind: 'until-idle', temporalAddress: '127.0.0.1:1', namespace: 'everstep',
  uiUrl: null, engineUrl: 'http://127.0.0.1:2', store: folder, children: [] });
setInterval(() => { if (readdirSync(folder + '/clients').length === 0) process.exit(0); }, 20);
`;
const NEVER_READY = `
write('dev.lock', { ...identity, notes: { shown: 'waiting for engine' } });
setInterval(() => {}, 1000);
`;

function use(dev: string, changes: Partial<UseStackOptions> = {}): Promise<StackUse> {
  const environment = readEnvironment(
    { dataDir: dataFolder() },
    { XDG_CACHE_HOME: path.join(folder, 'cache') },
  );
  return useStack({
    environment,
    purpose: 'test',
    progress: spacedProgress((line) => progress.push(line), 0),
    launcher: launcher(dev),
    binarySources: [goInstall],
    ...changes,
  }).then((stack) => {
    uses.push(stack);
    return stack;
  });
}

test('the start has all of its time although building the CLI took longer', async () => {
  const startLimitMs = 20_000;
  let nowMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    const starting = use(READY, { startLimitMs });
    await until(() => go.isBuilding());
    nowMs += 10 * startLimitMs;
    go.finish();

    expect((await starting).stack).toMatchObject({ ready: true });
  } finally {
    clock.mockRestore();
  }
});

test('two commands at once build one CLI, and the second shows it', async () => {
  const both = [use(READY), use(READY)];
  await until(() => progress.some((line) => /^Waiting for process .*: Building the Temporal CLI/.test(line)));
  go.finish();

  const [first, second] = await Promise.all(both);

  expect(second?.stack.ready).toBe(true);
  expect(first?.stack.ready).toBe(true);
  expect(go.calls()).toHaveLength(1);
});

test('an interrupted build leaves no process, no client and no stack', async () => {
  const controller = new AbortController();

  const starting = use(READY, { signal: controller.signal });
  await until(() => go.isBuilding());
  controller.abort(new Error('enough'));

  await expect(starting).rejects.toThrow('enough');
  await until(() => go.compilers().length === 0);
  expect(listClients(dataFolder())).toEqual([]);
  expect(readStackRecord(dataFolder())).toBeNull();
});

test('an interrupted start ends the stack that was begun', async () => {
  const controller = new AbortController();
  go.finish();

  const starting = use(NEVER_READY, { signal: controller.signal });
  await until(() => hasSupervisor(dataFolder()));
  controller.abort(new Error('enough'));

  await expect(starting).rejects.toThrow('enough');
  await until(() => !hasSupervisor(dataFolder()));
});

test('a stack whose process ends tells how, and how its log ends', async () => {
  go.finish();

  const starting = use(`process.stderr.write('the disk is on fire\\n'); process.exit(7);`);

  await expect(starting).rejects.toThrow(
    /its process ended \(exit code 7\)\. Its log, .*dev\.log, ends with:\nthe disk is on fire/,
  );
});

test('one that ends without a word is said to have written nothing, whatever an earlier one wrote', async () => {
  go.finish();
  await use(`process.stderr.write('an old story\\n'); process.exit(7);`).catch(() => undefined);

  const starting = use(`process.kill(process.pid, 'SIGKILL');`);

  await expect(starting).rejects.toThrow(/its process ended \(SIGKILL\)\. It wrote nothing to its log/);
  expect(readFileSync(path.join(dataFolder(), 'logs/dev.log'), 'utf8')).toContain('an old story');
});

test('one that is not ready in time is ended, and what it waits for is told', async () => {
  go.finish();

  const starting = use(NEVER_READY, { startLimitMs: 2000 });

  await expect(starting).rejects.toThrow(
    /(is not ready \(waiting for engine\)|is not ready)\. It wrote nothing/,
  );
  await until(() => !hasSupervisor(dataFolder()));
});

test('a command that is interrupted ends the stack that works for it alone, which would have waited for another', async () => {
  const waiting = READY.replace('process.exit(0)', 'undefined');
  const controller = new AbortController();
  const starting = use(waiting, { signal: controller.signal });
  await until(() => go.isBuilding());
  go.finish();
  const own = await starting;
  controller.abort();

  await own.release();

  await until(() => !hasSupervisor(dataFolder()));
});
