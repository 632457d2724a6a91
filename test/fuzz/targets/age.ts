import { checkRecipients } from '../../../src/engines/local/server/checkpoints/age-files';
import type { FuzzTarget } from '../target';
import { textOf } from '../target';

/** Whom weights are encrypted to. Nothing here decrypts. */
export const target: FuzzTarget = {
  name: 'age',
  seeds: () => ['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
  words: ['age1', 'age1pq1', 'age1tag1', 'AGE-SECRET-KEY-1'],
  run: (bytes) => checkRecipients(textOf(bytes).split('\n')),
};
