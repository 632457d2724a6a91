import { readSafetensors, writeSafetensors } from '../../../src/engines/local/compute/safetensors';
import type { FuzzTarget } from '../target';

/** Files of weights. */
export const target: FuzzTarget = {
  name: 'safetensors',
  seeds: () => [writeSafetensors([{ name: 'a', shape: [2, 2], data: Float32Array.from([1, 2, 3, 4]) }])],
  words: ['"BF16"', '"F32"', '"data_offsets"', '__metadata__', '[0,16]'],
  run: readSafetensors,
};
