import { mkdtempSync, openSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FrozenExamples } from '../../../src/evaluation/runner/frozen-examples';
import { LineIndex } from '../../../src/evaluation/runner/line-index';
import { loadTrajectories } from '../../../src/stores/eval-store';
import { openJournal } from '../../../src/stores/fenced-journal';
import { readLineGroups } from '../../../src/stores/line-groups';
import { readStepRows } from '../../../src/stores/step-rows';
import { copyWholeFile } from '../../../src/stores/whole-file';

/** Of holes: it takes no room on the disk, and whoever reads it to its end never comes there. */
const TEBIBYTE = 2 ** 40;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-endless-'));
  path = join(folder, 'trajectories.jsonl');
  writeFileSync(path, '{"step":1}\n');
  truncateSync(path, TEBIBYTE);
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const part = { exampleCount: 1, offset: 0, bytes: TEBIBYTE };
const READERS: readonly (readonly [string, () => unknown, number])[] = [
  ['lines in groups', () => [...readLineGroups(openSync(path, 'r'), path)], 64],
  ['trajectories', () => loadTrajectories(join(folder, '..'), folder.slice(tmpdir().length + 1)), 64],
  ['rows by step', () => readStepRows(path, { from: 2 }), 64],
  ['the newest rows by step', () => readStepRows(path, { points: 3 }), 64],
  ['a journal to be gone on with', () => openJournal({ path, epoch: 1, keyOf: () => 1 }), 64],
  ['lines by their keys', () => LineIndex.open(path, () => null), 64],
  ['examples', async () => [...(await FrozenExamples.open(path, part))], 512],
];

test.each(READERS)(
  '%s: a row without end is refused by its path before it is all there is in memory',
  async (_what, read, most) => {
    await expect(Promise.resolve().then(read)).rejects.toMatchObject({
      code: 'store-conflict',
      message: `${JSON.stringify(path)} has a line of more than ${most} MiB, which no row of it can have. Move it away, and put the file back if there was one.`,
    });
  },
);

test('a row without end is not copied', async () => {
  const copying = copyWholeFile(path, join(folder, 'kept', 'trajectories.jsonl'));

  await expect(copying).rejects.toMatchObject({ code: 'store-conflict' });
  expect(readdirSync(join(folder, 'kept'))).toEqual([]);
});
