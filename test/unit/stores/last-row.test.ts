import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { readLastRow } from '../../../src/stores/last-row';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-rows-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test.each([
  ['the last row', '{"step":1}\n{"step":2}\n', { step: 2 }],
  ['not the one that is being written', '{"step":1}\n{"step":2', { step: 1 }],
  ['not one that is torn', '{"step":1}\n{"st\n', { step: 1 }],
  [
    'the last of a file longer than what is read',
    `${'{"step":1}\n'.repeat(20_000)}{"step":7}\n`,
    { step: 7 },
  ],
  ['nothing from an empty file', '', null],
])('reads %s', async (_, text, expected) => {
  const file = path.join(folder, 'metrics.jsonl');
  await writeFile(file, text);

  expect(await readLastRow(file)).toEqual(expected);
});

test('there is no last row of a file that does not exist', async () => {
  expect(await readLastRow(path.join(folder, 'nope.jsonl'))).toBeNull();
});
