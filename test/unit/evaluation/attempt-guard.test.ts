import { appendFileSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardAttempt } from '../../../src/evaluation/attempt-guard';

const newFolder = () => mkdtempSync(join(tmpdir(), 'attempt-'));

/** As a process that dies while it works leaves the folder. */
async function die(folder: string): Promise<void> {
  const running = guardAttempt(folder, () => new Promise<never>(() => undefined));
  void running;
  while (!readdirSync(folder).includes('attempt.json'))
    await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setTimeout(resolve, 10));
}

test('gives up after five deaths in a row without anything new', async () => {
  const folder = newFolder();
  for (let death = 0; death < 5; death++) await die(folder);

  await expect(guardAttempt(folder, async () => 1)).rejects.toThrow('died 5 times in a row');
});

test('deaths of an evaluation that gets on do not count', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'answers.jsonl'), '');
  for (let death = 0; death < 8; death++) {
    await die(folder);
    appendFileSync(join(folder, 'answers.jsonl'), '{}\n');
  }

  await expect(guardAttempt(folder, async () => 1)).resolves.toBe(1);
});

test('an attempt that ends by itself leaves no mark, however it ends', async () => {
  const folder = newFolder();
  await die(folder);

  await guardAttempt(folder, async () => 1);
  await expect(guardAttempt(folder, async () => Promise.reject(new Error('no')))).rejects.toThrow('no');

  expect(readdirSync(folder)).toEqual([]);
});
