import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildWithGo } from '../../../src/stack/temporal-binary-sources';
import {
  cachedBinaryPath,
  findTemporalBinary,
  obtainTemporalBinary,
} from '../../../src/stack/temporal-binary';
import type { BinaryLookup } from '../../../src/stack/temporal-binary';

const GOOD = '#!/bin/sh\necho "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"\n';
const FOREIGN = '#!/bin/sh\necho "temporal 3.1, a calendar"\n';
const DAMAGED = 'ELF but torn';

let folder: string;
let progress: string[];
const realPath = process.env['PATH'];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep binary '));
  progress = [];
});

afterEach(() => {
  process.env['PATH'] = realPath;
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
    onProgress: (line) => progress.push(line),
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

describe('building with Go', () => {
  /** A toolchain that counts its calls and leaves a program where GOBIN says. */
  function installFakeGo(program: string): void {
    const fake = path.join(folder, 'program');
    writeFileSync(fake, program);
    const log = path.join(folder, 'go.log');
    writeProgram(
      'path/go',
      `#!/bin/sh\necho "$@" >> "${log}"\n[ "$1" = version ] && exit 0\nsleep 0.3\ncp "${fake}" "$GOBIN/temporal"\nchmod 755 "$GOBIN/temporal"\n`,
    );
    process.env['PATH'] = `${path.join(folder, 'path')}${path.delimiter}${realPath ?? ''}`;
  }
  const installs = (): string[] =>
    readFileSync(path.join(folder, 'go.log'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('install'));
  const build = (): Promise<void> => buildWithGo(path.join(folder, CACHED), (line) => progress.push(line));

  test('leaves the pinned CLI in the cache and nothing beside it', async () => {
    installFakeGo(GOOD);

    await build();

    expect(installs()).toEqual(['install -ldflags -s -w github.com/temporalio/cli/cmd/temporal@v1.5.1']);
    expect(readdirSync(path.join(folder, 'cache/temporal-1.5.1'))).toEqual(['temporal']);
    expect(await findTemporalBinary(lookup({ searchPath: '' }))).toMatchObject({ source: 'cache' });
  });

  test('builds once when two ask at the same time', async () => {
    installFakeGo(GOOD);

    await Promise.all([build(), build()]);

    expect(installs()).toHaveLength(1);
    expect(progress.join('\n')).toContain('waiting for it');
  });

  test('says that there is no Go toolchain', async () => {
    process.env['PATH'] = path.join(folder, 'nothing');

    await expect(build()).rejects.toThrow('no working Go toolchain');
    expect(existsSync(path.join(folder, CACHED))).toBe(false);
  });
});
