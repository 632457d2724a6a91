import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWholeFile, readWholeFileSync } from '../../../src/stores/reading';
import { copyWholeFile } from '../../../src/stores/whole-file';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-reading-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

test('a file that no text of this language could hold is refused by its path, and never read', async () => {
  const path = join(folder, 'state.json');
  writeFileSync(path, '{}');
  // Of holes: it takes no room on the disk.
  truncateSync(path, 20 * 2 ** 30);

  const refusal = `${path} has 21474836480 bytes, which is more than such a file can have. Move it away`;
  await expect(readWholeFile(path)).rejects.toThrow(refusal);
  expect(() => readWholeFileSync(path)).toThrow(refusal);
});

test('a link that leads back to itself is refused by its path, as every other thing that is no file', async () => {
  const path = join(folder, 'checkpoints.jsonl');
  symlinkSync(path, path);

  const refusal = `${path} is a link that leads back to itself where a file belongs. Move it away`;
  await expect(readWholeFile(path)).rejects.toThrow(refusal);
  expect(() => readWholeFileSync(path)).toThrow(refusal);
});

describe('a copy', () => {
  test('of a pipe is refused by its path, waits for no writer, and leaves nothing', async () => {
    const path = join(folder, 'samples.jsonl');
    execFileSync('mkfifo', [path]);

    await expect(copyWholeFile(path, join(folder, 'copied', 'samples.jsonl'))).rejects.toThrow(
      `${path} is a pipe where a file belongs. Move it away`,
    );
    expect(readdirSync(folder)).toEqual(['samples.jsonl']);
  });

  test('is made whole in place of another; of nothing there is none', async () => {
    const [from, to] = [join(folder, 'from.jsonl'), join(folder, 'to.jsonl')];
    writeFileSync(from, 'new\n'.repeat(50_000));
    writeFileSync(to, 'old');

    await copyWholeFile(from, to);
    await copyWholeFile(join(folder, 'missing.jsonl'), join(folder, 'other.jsonl'));

    expect(readFileSync(to, 'utf8')).toBe('new\n'.repeat(50_000));
    expect(readdirSync(folder).toSorted()).toEqual(['from.jsonl', 'to.jsonl']);
  });
});
