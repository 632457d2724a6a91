import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { explainError } from '../../../src/cli/explain-error';
import { commandHint, withPlaces } from '../../../src/cli/hints';
import { asCalled } from '../../../src/config/how-called';
import { DomainError } from '../../../src/core/errors';
import { readJsonLines } from '../../../src/stores/json-lines';
import { NamespaceNotFoundError } from '@temporalio/common';
import { asStoreError } from '../../../src/stores/system-errors';
import { readWholeFile } from '../../../src/stores/reading';
import { recordOutput } from './recording-output';

const QUIET = { isDebugging: false };

describe('a call that the Temporal server did not answer as it should', () => {
  const refusal = (code: number, details: string) =>
    new Error('Failed', { cause: Object.assign(new Error(`${code} ${details}`), { code, details }) });

  test('is told in plain words, with what the server said and where to look', () => {
    expect(explainError(refusal(5, 'Namespace everstep is not found.'), QUIET)).toBe(
      'The Temporal server does not know what it was asked for; one that has just been started, or whose database fails, may not know its own namespace. It says: Namespace everstep is not found. `npx everstep doctor` looks at it; give the command again once it answers.',
    );
  });

  test('so is a namespace that it does not know, as the SDK tells it', () => {
    expect(explainError(new NamespaceNotFoundError('everstep'), QUIET)).toMatch(
      /^The Temporal server does not know .* It says: Namespace not found: 'everstep'\. .*doctor/,
    );
  });

  test.each([4, 7, 8, 13, 14, 16])('gRPC code %i is no unexpected error', (code) => {
    expect(explainError(refusal(code, ''), QUIET)).toMatch(/^The Temporal server .*doctor/);
  });

  test('an error with a number of its own is none', () => {
    expect(explainError(Object.assign(new Error('odd'), { code: 5 }), QUIET)).toMatch(
      /^Unexpected error: odd/,
    );
  });
});

describe('an error of the operating system', () => {
  test('is one line with a remedy', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-error-'));
    try {
      const file = path.join(folder, 'file');
      await writeFile(file, '');
      const error: unknown = await mkdir(path.join(file, 'inner'), { recursive: true }).catch(
        (problem: unknown) => problem,
      );

      expect(explainError(error, QUIET)).toBe(
        `${path.join(file, 'inner')} (mkdir): a file is where a folder should be (ENOTDIR). Remove it, or choose another folder with --data-dir or --store.`,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('of a port that another program has says how to go on', () => {
    const error = Object.assign(new Error('listen EADDRINUSE: address already in use 127.0.0.1:9872'), {
      ...{ code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port: 9872 },
    });

    expect(explainError(error, QUIET)).toBe(
      'listen 127.0.0.1:9872: another program has this port already (EADDRINUSE). Give another one with --port, or end the other program.',
    );
  });

  test.each(['EACCES', 'ENOSPC', 'EROFS', 'EPERM', 'EDQUOT'])('%s names --data-dir and --store', (code) => {
    const error = Object.assign(new Error(code), { code, syscall: 'open', path: '/x' });

    expect(explainError(error, QUIET)).toMatch(/^\/x \(open\): .+ --data-dir or --store\.$/);
  });

  test.each([
    ['a whole file', readWholeFile],
    ['rows', readJsonLines],
  ])('names the path of a folder in the place of %s', async (_what, read) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-error-'));
    try {
      const error: unknown = await read(folder).catch((problem: unknown) => problem);

      expect(explainError(error, QUIET)).toBe(
        `${folder} is a directory where a file belongs. Move it away, and put the file back if there was one.`,
      );
      expect(error).toHaveProperty('message', expect.stringContaining(folder));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('is told for this process where the store cannot be written', () => {
    const refused = Object.assign(new Error('EACCES'), { code: 'EACCES', syscall: 'mkdir', path: '/x/runs' });

    expect(explainError(asStoreError(refused, '/x/runs/a/state.json'), QUIET)).toMatch(
      /^\/x\/runs \(mkdir\): permission denied \(EACCES\)\. .+ --data-dir or --store\.$/,
    );
  });

  test('shows its trace when debugging', async () => {
    const error: unknown = await readFile('/nowhere/at/all').catch((problem: unknown) => problem);

    expect(explainError(error, { isDebugging: true })).toContain('\n');
  });
});

test('an unexpected error is one line', () => {
  expect(explainError(new TypeError('x is undefined\nmore'), QUIET)).toBe(
    'Unexpected error: x is undefined. EVERSTEP_LOG_LEVEL=debug shows where it happened.',
  );
});

test('an error that the domain names is said as it is', () => {
  expect(explainError(new DomainError('bad-config', 'a\n  - b'), QUIET)).toBe('a\n  - b');
});

describe('suggested commands', () => {
  test('look where this command looked', () => {
    expect(commandHint('runs watch x', { dataDir: 'a b', store: '/s' })).toBe(
      "npx everstep runs watch x --data-dir 'a b' --store /s",
    );
    expect(commandHint('dev', {})).toBe('npx everstep dev');
  });

  test('are written as this program was called', () => {
    const called = process.argv[1] ?? '';
    process.argv[1] = path.resolve('bin/everstep.js');
    try {
      expect(commandHint('dev', {})).toBe('bin/everstep.js dev');
      expect(asCalled('See `everstep runs list`, or with: npx everstep doctor. An everstep worker.')).toBe(
        'See `bin/everstep.js runs list`, or with: bin/everstep.js doctor. An everstep worker.',
      );
      expect(
        asCalled('Look with everstep runs rollouts a, e.g. everstep eval NAME: the everstep store.'),
      ).toBe(
        'Look with bin/everstep.js runs rollouts a, e.g. bin/everstep.js eval NAME: the everstep store.',
      );
      expect(withPlaces('Start `npx everstep dev`.', { dataDir: 'd' })).toBe(
        'Start `bin/everstep.js dev --data-dir d`.',
      );
    } finally {
      process.argv[1] = called;
    }
  });

  test('that name a data folder keep it', () => {
    expect(withPlaces('Start `everstep dev --data-dir other`.', { dataDir: 'd' })).toBe(
      'Start `npx everstep dev --data-dir other`.',
    );
  });

  test('also those inside a text', () => {
    expect(withPlaces('Start `npx everstep worker` or `npx everstep train --run x`.', { dataDir: 'd' })).toBe(
      'Start `npx everstep worker --data-dir d` or `npx everstep train --run x --data-dir d`.',
    );
  });
});

test('what a name in a foreign store holds cannot reach the terminal as more than text', () => {
  const error = new DomainError(
    'refused',
    'Run "a\u001b]0;x\u0007\u001b[31m" has no rollouts.\n  \u202edetail',
  );

  expect(explainError(error, QUIET)).toBe('Run "a\\x1b]0;x\\x07\\x1b[31m" has no rollouts.\n  \\u202edetail');
});

test('nor as a document, which stays the same value', () => {
  const value = { name: 'a\u001b[2J\u009b31m\u202eb\u007f', lines: ['one\ntwo'] };
  const { output, stdout } = recordOutput({ json: true });

  output.document(value);

  expect(stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(JSON.parse(stdout())).toEqual(value);
});
