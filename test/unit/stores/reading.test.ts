import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWholeFile, readWholeFileSync } from '../../../src/stores/reading';

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
