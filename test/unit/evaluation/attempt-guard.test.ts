import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardAttempt } from '../../../src/evaluation/attempt-guard';

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-attempt-'));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** As a process that dies while it works leaves the folder. */
async function die(folder: string): Promise<void> {
  await new Promise<void>((resolve) => {
    void guardAttempt(folder, () => {
      resolve();
      return new Promise<never>(() => undefined);
    });
  });
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

test('work is told whether the worker before was lost with it', async () => {
  const folder = newFolder();
  const isTakenUp = () => guardAttempt(folder, (taken) => Promise.resolve(taken));

  expect(await isTakenUp()).toBe(false);
  await die(folder);
  expect(await isTakenUp()).toBe(true);
  expect(await isTakenUp()).toBe(false);
});
