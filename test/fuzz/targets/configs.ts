import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { applyOverrides } from '../../../src/config/config-overrides';
import { loadTrainingConfig } from '../../../src/config/load-config';
import type { FuzzTarget } from '../target';
import { passAll, scratchFolder, textOf } from '../target';

const ROOT = path.join(__dirname, '..', '..', '..');
const folder = scratchFolder('configs');
const JSON_CONFIG = {
  ...{ kind: 'sft', model: 'everstep/tiny', learningRate: 1e-3, batchSize: 4 },
  dataset: { type: 'file', path: 'a.jsonl' },
};

/** Configs of training in YAML and JSON, and `--set`. */
export const target: FuzzTarget = {
  name: 'configs',
  seeds: () => [
    JSON.stringify(JSON_CONFIG),
    readFileSync(path.join(ROOT, 'configs', 'sft-arithmetic.yaml')),
    'adam.beta1=0.9\ndataset={type: file}\nlist.0.a=[1, 2]',
  ],
  words: [
    '&a',
    '*a',
    '<<: *a',
    '!!binary',
    '!!set',
    '- ',
    ': ',
    '|',
    '>',
    '__proto__',
    '.inf',
    '0x10',
    'kind: rl',
    '%YAML',
    '? ',
  ],
  async run(bytes) {
    const file = path.join(folder, 'config.yaml');
    writeFileSync(file, bytes);
    const lines = textOf(bytes).split('\n').slice(0, 20);
    await passAll([
      () => loadTrainingConfig({ file }),
      ...lines.map((line) => () => {
        applyOverrides({ adam: { beta1: 1 }, list: [{ a: 1 }] }, [line]);
      }),
      () => loadTrainingConfig({ file, overrides: lines }),
    ]);
  },
};
