import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readFileRows } from '../../../src/datasets/file-rows';
import { toConversation } from '../../../src/datasets/rows';
import type { FuzzTarget } from '../target';
import { passAll } from '../target';
import { isRowRefusal } from './datasets';

const FIXTURES = path.join(__dirname, '..', '..', 'unit', 'datasets', 'fixtures');

/** Rows of Parquet, as conversations. */
export const target: FuzzTarget = {
  name: 'parquet',
  seeds: () => [readFileSync(path.join(FIXTURES, 'two-conversations.parquet'))],
  words: ['PAR1'],
  isRefusal: isRowRefusal,
  run: async (bytes) => {
    for await (const row of readFileRows('rows.parquet', bytes))
      await passAll([() => toConversation(row)], isRowRefusal);
  },
};
