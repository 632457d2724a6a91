import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadTrainingConfig } from '../../../src/config/load-config';
import { readTokenFile, tokenFileRemark } from '../../../src/config/token-file';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-named-'));
  file = join(folder, 'token');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('a token', () => {
  test('is what a file holds, without the space around it', () => {
    writeFileSync(file, 'tml-0123456789abcdef\n');
    expect(readTokenFile(file)).toBe('tml-0123456789abcdef');
  });

  test('comes from a pipe too, also where its writer takes a moment', () => {
    execFileSync('mkfifo', [file]);
    const writer = spawn('sh', ['-c', '(printf tml-; sleep 0.1; echo rest) > "$0"', file]);
    expect(readTokenFile(file)).toBe('tml-rest');
    writer.kill();
  });

  test('is not waited for without end where nobody writes, and not looked for in devices, folders or long files', () => {
    execFileSync('mkfifo', [file]);
    expect(() => readTokenFile(file)).toThrow(
      `--token-file ${file} cannot be read (it is a pipe into which nobody wrote all within 5 seconds). Give a file`,
    );
    expect(() => readTokenFile('/dev/zero')).toThrow(
      '/dev/zero cannot be read (it is a device or a socket).',
    );
    expect(() => readTokenFile(folder)).toThrow('cannot be read (it is a folder).');
    expect(() => readTokenFile(join(folder, 'none'))).toThrow('cannot be read (no such file).');
    const long = join(folder, 'long');
    writeFileSync(long, 'a'.repeat(8193));
    expect(() => readTokenFile(long)).toThrow('cannot be read (it has more than 8192 bytes).');
  });
});

test('of a token that every user of the machine can read, its file and the remedy are told', () => {
  const spaced = join(folder, 'my token');
  writeFileSync(spaced, 'tml-0123456789abcdef\n');
  chmodSync(spaced, 0o644);
  expect(tokenFileRemark(spaced)).toBe(
    `--token-file ${spaced}: every user of this machine can read it. \`chmod 600 '${spaced}'\` leaves it to its owner.`,
  );
  chmodSync(spaced, 0o640);
  expect(tokenFileRemark(spaced)).toBeNull();
  execFileSync('mkfifo', ['-m', '644', file]);
  expect(tokenFileRemark(file)).toBeNull();
  expect(tokenFileRemark(join(folder, 'none'))).toBeNull();
});

test('a config without an end is refused at once', async () => {
  await expect(loadTrainingConfig({ file: '/dev/zero' })).rejects.toThrow('/dev/zero has more than 16 MiB.');
});
