import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spacedProgress } from '../../../src/stack/progress';
import { obtainTemporalBinary } from '../../../src/stack/temporal-binary';
import type { BinaryLookup } from '../../../src/stack/temporal-binary';
import { goInstall } from '../../../src/stack/temporal-binary-sources';
import type { BinarySource } from '../../../src/stack/temporal-binary-sources';
import { installFakeGo } from './fake-go';
import type { FakeGo } from './fake-go';

let folder: string;
let progress: string[];
let go: FakeGo | null = null;
const realPath = process.env['PATH'] ?? '';

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep building '));
  progress = [];
});

afterEach(async () => {
  const fake = go;
  go = null;
  fake?.finish();
  await until(() => (fake?.compilers() ?? []).length === 0);
  process.env['PATH'] = realPath;
  rmSync(folder, { recursive: true, force: true });
});

const place = (name: string): string => path.join(folder, name);
const cached = (name: string): string => path.join(folder, 'cache/temporal-1.5.1', name);

function useFakeGo(finish?: string): FakeGo {
  go = installFakeGo(folder, finish);
  process.env['PATH'] = `${go.folder}${path.delimiter}${realPath}`;
  return go;
}

function lookup(changes: Partial<BinaryLookup> = {}): BinaryLookup {
  return {
    explicit: null,
    cacheFolder: place('cache'),
    searchPath: place('nothing'),
    progress: spacedProgress((line) => progress.push(line), 0),
    sources: [goInstall],
    ...changes,
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('leaves the pinned CLI in the cache and nothing beside it', async () => {
  const fake = useFakeGo();
  fake.finish();

  const binary = await obtainTemporalBinary(lookup());

  expect(binary).toEqual({ path: cached('temporal'), source: 'go install', version: 'Server 1.29.1' });
  expect(fake.calls()).toEqual(['install -v -ldflags -s -w github.com/temporalio/cli/cmd/temporal@v1.5.1']);
  expect(readdirSync(cached('.'))).toEqual(['temporal']);
});

test('shows what Go is at', async () => {
  const fake = useFakeGo();

  const building = obtainTemporalBinary(lookup());
  await until(() => progress.some((line) => line.includes('downloading example.org/module v1.2.3')));
  fake.finish();
  await building;

  expect(progress[0]).toBe('Building the Temporal CLI with Go: about three minutes, once.');
});

test('builds once when two ask at the same time, and the second shows what the first is at', async () => {
  const fake = useFakeGo();

  const both = Promise.all([obtainTemporalBinary(lookup()), obtainTemporalBinary(lookup())]);
  await until(() =>
    progress.some((line) => /Waiting for process \d+.*: Building the Temporal CLI/.test(line)),
  );
  fake.finish();

  expect((await both).map((binary) => binary.path)).toEqual([cached('temporal'), cached('temporal')]);
  expect(fake.calls()).toHaveLength(1);
});

test('what Go says last, and how it ended, is in the message when it fails', async () => {
  const fake = useFakeGo('echo "# example.org/module" >&2; echo "clock.go:7: undefined: later" >&2; exit 3');
  fake.finish();

  await expect(obtainTemporalBinary(lookup())).rejects.toThrow(
    /go install failed \(exit code 3\); it ends with:[^]*# example.org\/module\n\s*clock.go:7: undefined: later/,
  );
  expect(readdirSync(cached('.'))).toEqual([]);
});

test('a failure without a word is called one', async () => {
  mkdirSync(place('path'));
  writeFileSync(place('path/go'), '#!/bin/sh\nkill -9 $$\n');
  chmodSync(place('path/go'), 0o755);
  process.env['PATH'] = `${place('path')}${path.delimiter}${realPath}`;

  await expect(obtainTemporalBinary(lookup())).rejects.toThrow(
    'go install failed (SIGKILL); it printed nothing',
  );
});

test('a build that takes longer than its own limit is ended, with all its processes', async () => {
  const fake = useFakeGo();
  const limited: BinarySource = {
    name: 'go install',
    fetch: (work, options) => goInstall.fetch(work, { ...options, limitMs: 300 }),
  };

  await expect(obtainTemporalBinary(lookup({ sources: [limited] }))).rejects.toThrow(
    'took longer than 0.3 s',
  );
  await until(() => fake.compilers().length === 0);
  expect(readdirSync(cached('.'))).toEqual([]);
});

test('a wait that is aborted leaves no process, no folder and no lock', async () => {
  const fake = useFakeGo();
  const controller = new AbortController();

  const building = obtainTemporalBinary(lookup(), controller.signal);
  await until(() => fake.isBuilding());
  controller.abort(new Error('enough'));

  await expect(building).rejects.toThrow('enough');
  await until(() => fake.compilers().length === 0);
  expect(readdirSync(cached('.'))).toEqual([]);
});

test('says that there is no Go toolchain', async () => {
  process.env['PATH'] = place('nothing');

  await expect(obtainTemporalBinary(lookup())).rejects.toThrow('no Go toolchain on PATH');
  expect(existsSync(cached('temporal'))).toBe(false);
});
