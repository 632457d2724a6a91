import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SILENT_PROGRESS } from '../../../src/stack/progress';
import {
  cachedBinaryPath,
  findTemporalBinary,
  obtainTemporalBinary,
} from '../../../src/stack/temporal-binary';
import type { BinarySource } from '../../../src/stack/temporal-binary-sources';
import type { BinaryLookup } from '../../../src/stack/temporal-binary';

const GOOD = '#!/bin/sh\necho "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"\n';
const FOREIGN = '#!/bin/sh\necho "temporal 3.1, a calendar"\n';
const DAMAGED = 'ELF but torn';

let folder: string;
let progress: string[];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep binary '));
  progress = [];
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function writeProgram(place: string, content: string): string {
  const file = path.join(folder, place);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, 0o755);
  return file;
}

function lookup(changes: Partial<BinaryLookup> = {}): BinaryLookup {
  return {
    explicit: null,
    cacheFolder: path.join(folder, 'cache'),
    searchPath: path.join(folder, 'path'),
    progress: { ...SILENT_PROGRESS, note: (line) => progress.push(line) },
    ...changes,
  };
}

const CACHED = 'cache/temporal-1.5.1/temporal';

test('keeps the cached program under the version of the CLI', () => {
  expect(cachedBinaryPath(path.join(folder, 'cache'))).toBe(path.join(folder, CACHED));
});

test('takes the program on PATH before the cached one', async () => {
  const onPath = writeProgram('path/temporal', GOOD);
  writeProgram(CACHED, GOOD);

  expect(await findTemporalBinary(lookup())).toEqual({
    path: onPath,
    source: 'PATH',
    version: 'Server 1.29.1',
  });
});

test.each([
  ['another program of that name', FOREIGN, 'does not call itself a Temporal CLI'],
  ['a damaged program', DAMAGED, 'cannot be used'],
])('passes over %s on PATH, says why, and takes the cached one', async (_what, content, reason) => {
  writeProgram('path/temporal', content);
  const cached = writeProgram(CACHED, GOOD);

  expect(await findTemporalBinary(lookup())).toMatchObject({ path: cached, source: 'cache' });
  expect(progress.join('\n')).toContain(reason);
});

test('uses the explicit path and nothing else', async () => {
  const explicit = writeProgram('mine', GOOD);
  writeProgram('path/temporal', GOOD);

  expect(await findTemporalBinary(lookup({ explicit }))).toMatchObject({
    path: explicit,
    source: 'EVERSTEP_TEMPORAL_CLI',
  });
});

test('refuses an explicit path that does not work instead of looking elsewhere', async () => {
  writeProgram('path/temporal', GOOD);

  const attempt = obtainTemporalBinary(lookup({ explicit: path.join(folder, 'absent') }));

  await expect(attempt).rejects.toThrow(/EVERSTEP_TEMPORAL_CLI is .*absent.*Correct it or unset it/);
});

test('Ctrl-C while the program is looked at ends the look: nothing is said of it and nothing is fetched', async () => {
  const begun = path.join(folder, 'begun');
  writeProgram(
    'path/temporal',
    `#!/bin/sh\nps -o pgid= -p $$ >'${begun}.new'\nmv '${begun}.new' '${begun}'\nexec sleep 1000\n`,
  );
  const interrupts = new AbortController();
  const fetched: string[] = [];
  const source: BinarySource = {
    name: 'SDK download',
    fetch: () => {
      fetched.push('download');
      return Promise.reject(new Error('nothing there'));
    },
  };

  const attempt = obtainTemporalBinary(lookup({ sources: [source] }), interrupts.signal);
  attempt.catch(() => undefined);
  while (!existsSync(begun)) await new Promise((resolve) => setTimeout(resolve, 20));
  const group = Number(readFileSync(begun, 'utf8'));
  interrupts.abort(new Error('interrupted'));

  await expect(attempt).rejects.toThrow('interrupted');
  expect(group).not.toBe(
    Number(execFileSync('ps', ['-o', 'pgid=', '-p', String(process.pid)], { encoding: 'utf8' })),
  );
  expect(progress).toEqual([]);
  expect(fetched).toEqual([]);
});
