import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckpointRow } from '../../../src/core/run';
import { readPromotion, requirePromotion } from '../../../src/stores/checkpoint-name';
import { readSampledSteps, sampledSteps } from '../../../src/stores/sampled-steps';

const RUN = { config: { engine: {}, loraRank: 8 }, engineUrl: 'http://127.0.0.1:1', initialPath: null };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-sampled-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function rowOf(step: number, changes: Partial<CheckpointRow> = {}): CheckpointRow {
  return {
    ...{ name: String(step), step, batch: step, epoch: 0, final: false, lineage: 0, incarnation: 0 },
    ...{ state_path: null, sampler_path: null, elapsed_tokens: 0 },
    ...changes,
  };
}

test('are those with sampler weights, or with a state that can be sampled, in order', () => {
  const rows = [
    rowOf(7, { sampler_path: 'tinker://m/s/7' }),
    rowOf(5),
    rowOf(0, { state_path: 'tinker://m/w/0' }),
    rowOf(7),
  ];

  expect(sampledSteps(rows, RUN)).toEqual([0, 7]);
});

test('of a run with very many checkpoints are found in one go', () => {
  const rows = Array.from({ length: 1_000_000 }, (_, step) => rowOf(step, { state_path: 'w' }));

  expect(sampledSteps(rows, RUN)).toHaveLength(1_000_000);
});

test.each([{ engine: null }, { engine: 'x' }, { engine: [] }, { engine: { url: { toString: 1 } } }])(
  'are not known of a config with %j',
  async (config) => {
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...RUN, config }));

    expect(await readSampledSteps(folder)).toBeNull();
  },
);

test.each([{ step: { toString: 1 } }, {}, { step: -1 }, { step: 1e12 }, { step: 1, name: 5 }])(
  'a promotion that says %j is none, and RUN@best is refused by its file',
  async (promotion) => {
    writeFileSync(join(folder, 'best.json'), JSON.stringify(promotion));

    expect(await readPromotion(folder)).toBeNull();
    const refused = requirePromotion('odd', folder);

    await expect(refused).rejects.toMatchObject({ code: 'store-conflict' });
    await expect(refused).rejects.toThrow(`${JSON.stringify(join(folder, 'best.json'))} is damaged`);
  },
);
