import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findWeightsFolder } from '../../../src/stack/find-weights';

const CHECKPOINT = 'tinker://ab12-cd:train:0/sampler_weights/final';
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'everstep-weights-'));
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

function save(dataFolder: string): void {
  const folder = join(dataFolder, 'engine', 'checkpoints', 'ab12-cd_train_0', 'sampler_weights', 'final');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'meta.json'), '{}');
}

test("finds a checkpoint at the data folder's own engine before the demo's", async () => {
  save(home);
  save(join(home, 'demo'));

  expect(await findWeightsFolder(home, CHECKPOINT)).toBe(home);
});

test("finds a checkpoint of the demo from its parent, and the parent's from the demo", async () => {
  save(join(home, 'demo'));
  expect(await findWeightsFolder(home, CHECKPOINT)).toBe(join(home, 'demo'));

  rmSync(join(home, 'demo'), { recursive: true });
  save(home);
  expect(await findWeightsFolder(join(home, 'demo'), CHECKPOINT)).toBe(home);
});

test.each([CHECKPOINT, 'tinker://else:train:0/sampler_weights/final', 'tinker://../../x', 'hf://a/b'])(
  'finds %s nowhere',
  async (checkpoint) => {
    save(join(home, 'other'));

    expect(await findWeightsFolder(home, checkpoint)).toBeNull();
  },
);
