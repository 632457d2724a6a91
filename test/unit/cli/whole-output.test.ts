import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { explainError } from '../../../src/cli/explain-error';
import { exitCodeOf } from '../../../src/cli/exit-codes';
import { createOutput, endForReader } from '../../../src/cli/output';
import { writeWhole, writeWholeText } from '../../../src/cli/whole-output';
import { DomainError } from '../../../src/core/errors';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-whole-'));
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** As Node tells it of a file that is open: without its path. */
const full = () =>
  Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

test.each(['--output', '--html'] as const)('a full disk leaves nothing where %s points', async (option) => {
  const file = path.join(folder, 'x.yaml');
  const write = (temporary: string) => {
    writeFileSync(temporary, 'half');
    return Promise.reject(full());
  };
  const failure = await failureOf(writeWhole(file, write, { option, isNew: true }));

  expect(explainError(failure, { isDebugging: false })).toBe(
    `${option} ${file}: no space is left on the disk (ENOSPC). Make room, or give another place with ${option}.`,
  );
  expect(exitCodeOf(failure)).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
  await writeWholeText(file, 'whole', { option, isNew: true });
  expect(readFileSync(file, 'utf8')).toBe('whole');
});

test('what the store says of its files is told of the option that names the place', async () => {
  const store = new DomainError('store-full', 'The store cannot be used at x', { cause: full() });
  const failure = await failureOf(writeWhole(path.join(folder, 'x'), () => Promise.reject(store)));

  expect(explainError(failure, { isDebugging: false })).toMatch(/^--output .*another place with --output\.$/);
});

test('a file that is there stays, and one of the same name is whole or the old one', async () => {
  const file = path.join(folder, 'x');
  writeFileSync(file, 'mine');

  await expect(writeWholeText(file, 'new', { isNew: true })).rejects.toThrow('exists already');
  await failureOf(writeWhole(file, () => Promise.reject(full())));
  expect(readFileSync(file, 'utf8')).toBe('mine');
});

test('devices and links stay what they are', async () => {
  const file = path.join(folder, 'x');
  const link = path.join(folder, 'link');
  writeFileSync(file, 'old');
  symlinkSync(file, link);

  await writeWholeText(link, 'new', {});
  await writeWholeText('/dev/null', 'new', {});

  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
});

const onDisk = existsSync('/dev/full') ? test : test.skip;
onDisk('a full device is told with its name', async () => {
  const failure = await failureOf(writeWholeText('/dev/full', 'x', { option: '--html' }));

  expect(explainError(failure, { isDebugging: false })).toMatch(/^--html \/dev\/full: no space is left/);
});

test.each([
  ['EPIPE', 0, ''],
  [
    'ENOSPC',
    1,
    'everstep: standard output: no space is left on the disk (ENOSPC). Make room, or send it elsewhere.\n',
  ],
  ['EIO', 1, 'everstep: standard output: the disk does not work (EIO). Repair it, or send it elsewhere.\n'],
])('standard output that ends with %s ends the command with %i', (code, exit, says) => {
  let told = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  const ends = jest.spyOn(process, 'exit').mockImplementation((status) => {
    throw new Error(`exit ${String(status)}`);
  });

  expect(() => endForReader(Object.assign(full(), { code }))).toThrow(`exit ${exit}`);
  expect(ends).toHaveBeenCalledTimes(1);
  expect(told).toBe(says);
});

test('a note moves no cursor, whatever it repeats', () => {
  let told = '';
  const stream = { write: (text: string) => ((told += text), true) };
  createOutput({ json: false, stdout: stream, stderr: stream }).note('a\u001b[2J\u009b1A\nb\rc');

  expect(told).toBe('a\\x1b[2J\\x9b1A\nb\\x0dc\n');
});
