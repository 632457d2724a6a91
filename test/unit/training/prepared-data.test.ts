import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PreparedExample } from '../../../src/training/prepared-data';
import { PreparedData, writePreparedData } from '../../../src/training/prepared-data';

function example(length: number, seed: number): PreparedExample {
  return {
    datum: {
      tokens: Int32Array.from({ length }, (_, index) => seed + index),
      targetTokens: Int32Array.from({ length }, (_, index) => seed + index + 1),
      lossInputs: { weights: Float32Array.from({ length }, (_, index) => index / length) },
    },
    countedBytes: seed * 2,
    counted: Uint8Array.from({ length }, (_, index) => index % 2),
  };
}

const path = () => join(mkdtempSync(join(tmpdir(), 'prepared-')), 'train.bin');

test('reads back what was written, for examples of any length', async () => {
  const file = path();
  const examples = [example(3, 1), example(1, 2), example(7, 1000)];

  await writePreparedData(file, examples);
  const data = await PreparedData.load(file);

  expect([0, 1, 2].map((index) => data.example(index))).toEqual(examples);
  expect(data.exampleCount).toBe(3);
});

test('the hash depends on the content alone', async () => {
  const first = await writePreparedData(path(), [example(3, 1)]);
  const same = await writePreparedData(path(), [example(3, 1)]);
  const other = await writePreparedData(path(), [example(3, 2)]);

  expect(same).toBe(first);
  expect(other).not.toBe(first);
});

test('refuses a file that is not whole', async () => {
  const file = path();
  await writePreparedData(file, [example(3, 1)]);
  appendFileSync(file, 'x');

  await expect(PreparedData.load(file)).rejects.toThrow('were expected');
});
