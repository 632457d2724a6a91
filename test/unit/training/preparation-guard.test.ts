import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardPreparation } from '../../../src/training/preparation-guard';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-preparation-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const silent = { onProgress: () => undefined };

function guard<Result>(work: () => Promise<Result>): Promise<Result> {
  return guardPreparation({ folder, ...silent }, work);
}

/** As a process that dies while it works leaves the folder. */
async function die(lastWords = ''): Promise<void> {
  await new Promise<void>((resolve) => {
    void guardPreparation({ folder, ...silent }, (note) => {
      if (lastWords !== '') note(lastWords);
      resolve();
      return new Promise<never>(() => undefined);
    });
  });
}

function markText(): string {
  return readFileSync(join(folder, '.preparation.json'), 'utf8');
}

test('gives up after five deaths in a row, and says what was done last', async () => {
  for (let death = 0; death < 4; death++) await die();
  await die('16 of 20 examples rendered');
  while (!markText().includes('16 of 20')) await new Promise((resolve) => setImmediate(resolve));

  const sixth = guard(async () => 1);

  await expect(sixth).rejects.toMatchObject({ code: 'refused', retryable: false });
  await expect(sixth).rejects.toThrow(/5 times in a row.*last after "16 of 20 examples rendered"/);
});

test('an attempt that ends by itself leaves no mark, however it ends and however often', async () => {
  await die();

  for (let count = 0; count < 7; count++) {
    await expect(guard(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  }

  await expect(guard(async () => 1)).resolves.toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

test('one that stood still for so long that it was taken for dead counts as dead, although it ended', async () => {
  const standStill = () => {
    let time = 0;
    return guardPreparation({ folder, ...silent, now: () => time }, async () => {
      time += 20_000;
    });
  };
  for (let count = 0; count < 5; count++) await standStill();

  await expect(guard(async () => 1)).rejects.toThrow('5 times in a row');
});
