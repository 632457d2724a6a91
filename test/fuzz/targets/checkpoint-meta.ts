import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { readMeta } from '../../../src/engines/local/server/checkpoints/checkpoint-files';
import type { FuzzTarget } from '../target';
import { scratchFolder } from '../target';

const folder = scratchFolder('meta');
const META = {
  ...{
    format: 1,
    modelId: 'm',
    kind: 'weights',
    name: 'a',
    baseModel: 'everstep/tiny',
    lora: null,
    sequence: 1,
  },
  ...{
    createdAt: '2026-01-01T00:00:00.000Z',
    expiresAt: null,
    optimizerStep: 1,
    sizeBytes: 1,
    userMetadata: null,
  },
};

/** Descriptions of checkpoints in the engine's folder: what cannot be read is none. */
export const target: FuzzTarget = {
  name: 'checkpoint-meta',
  seeds: () => [JSON.stringify(META), JSON.stringify({ ...META, digest: 'x', sha256: { a: 'b' } })],
  words: ['digest', 'userMetadata', 'ageRecipients', 'external_weights'],
  isRefusal: () => false,
  run(bytes) {
    writeFileSync(path.join(folder, 'meta.json'), bytes);
    return readMeta(folder);
  },
};
