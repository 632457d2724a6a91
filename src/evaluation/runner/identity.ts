import { createHash } from 'node:crypto';
import type { Example } from '../example';
import { promptLine } from './shard-task';

/** How seeds are chosen: by the id of the example and the index of the sample. */
export const SEED_RULE = 'by example';

/** Of examples in their order, one after another, however many there are. */
export function dataHashOf(examples: Iterable<Example>): string {
  const digest = createHash('sha256');
  for (const example of examples) digest.update(exampleLine(example));
  return digest.digest('hex').slice(0, 32);
}

/** Of what examples ask, whatever their references are: equal where answers to the one are answers to the other. */
export function questionsHashOf(examples: Iterable<Example>): string {
  const digest = createHash('sha256');
  for (const example of examples) digest.update(`${promptLine(example)}\n`);
  return digest.digest('hex').slice(0, 32);
}

/** An example as it is frozen in `examples.jsonl`. */
function exampleLine(example: Example): string {
  return `${JSON.stringify(example)}\n`;
}
