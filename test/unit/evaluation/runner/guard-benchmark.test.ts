import { existsSync, mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardBenchmark } from '../../../../src/evaluation/runner/guard-benchmark';

const folder = mkdtempSync(join(tmpdir(), 'everstep-guard-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const { signal } = new AbortController();
const place = { run: 'first', folder, benchmark: 'words' };

test('a first try notes nothing, and another one does so while it lasts', async () => {
  const mark = join(folder, 'words', '.begun.json');
  const isNoted = () => Promise.resolve(existsSync(mark));

  expect(await guardBenchmark({ place }, { signal }, isNoted)).toBe(false);
  expect(await guardBenchmark({ place }, { signal, attempt: 2 }, isNoted)).toBe(true);
  expect(existsSync(mark)).toBe(false);
});

test('a part that its process died with is not begun again, which names the file', async () => {
  const part = join(folder, 'words', 'journal', 'shard-0');
  mkdirSync(part, { recursive: true });
  const died = { deaths: 4, deathsAlone: 2, bytes: 0, isAlone: true };
  writeFileSync(join(part, '.begun.json'), JSON.stringify(died));
  const work = jest.fn(() => Promise.resolve());

  const begun = guardBenchmark({ place, plugins: '/a/"b".ts', folder: part }, { signal, attempt: 6 }, work);

  await expect(begun).rejects.toThrow(/died 5 times in a row while the code of "\/a\/\\"b\\".ts" ran/);
  expect(work).not.toHaveBeenCalled();
});
