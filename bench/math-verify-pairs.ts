/**
 * How many verdicts on the pairs of math-verify's own tests are ours, too, and which are not.
 *
 *     npx jiti bench/math-verify-pairs.ts pairs.jsonl
 *
 * A line of the file is `{"gold", "answer", "expected"}`; bench/math-verify-pairs.py makes it.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { MathEquivalence } from '../src/evaluation/graders/math/math-equivalence';

const Pair = z.object({
  gold: z.string(),
  answer: z.string(),
  expected: z.boolean(),
  options: z.record(z.string(), z.unknown()).default({}),
});

async function main(path: string | undefined): Promise<void> {
  if (path === undefined)
    throw new Error('Give the file of pairs: npx jiti bench/math-verify-pairs.ts pairs.jsonl');
  const lines = readFileSync(path, 'utf8').split('\n');
  const pairs = lines.filter((line) => line !== '').map((line) => Pair.parse(JSON.parse(line)));
  const equivalence = new MathEquivalence();
  let sameCount = 0;
  for (const { gold, answer, expected, options } of pairs) {
    const { isEqual } = await equivalence.judge(answer, gold);
    if (isEqual === expected) sameCount++;
    else {
      const verdict = isEqual ? 'accepted' : 'rejected';
      console.log(`${verdict} ${JSON.stringify({ gold: ending(gold), answer: ending(answer), options })}`);
    }
  }
  await equivalence.close();
  console.log(`${sameCount} of ${pairs.length}`);
}

function ending(text: string): string {
  return text.slice(-200);
}

void main(process.argv[2]);
