import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { shuffledIndices } from '../../src/core/random';
import { allPairs, heldOut } from './held-out';

/** Two-digit addition as conversations: `npx jiti scripts/tiny/make-arithmetic-data.ts [folder]`. */

const SEED = 20;

function conversation([a, b]: readonly [number, number]): string {
  return JSON.stringify({
    messages: [
      { role: 'user', content: `${a}+${b}=` },
      { role: 'assistant', content: String(a + b) },
    ],
  });
}

function shuffledLines(pairs: readonly [number, number][]): string {
  const lines = Array.from(shuffledIndices(pairs.length, SEED), (index) =>
    conversation(pairs[index] ?? [0, 0]),
  );
  return `${lines.join('\n')}\n`;
}

/** `train` holds every pair that is not held out, `test` every pair that is, each once. */
export function makeArithmeticData(): { readonly train: string; readonly test: string } {
  const pairs = allPairs();
  return {
    train: shuffledLines(pairs.filter(([a, b]) => !heldOut(a, b))),
    test: shuffledLines(pairs.filter(([a, b]) => heldOut(a, b))),
  };
}

if (path.basename(process.argv[1] ?? '').startsWith('make-arithmetic-data')) {
  const folder = process.argv[2] ?? path.join(__dirname, '../../data/arithmetic');
  const { train, test } = makeArithmeticData();
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'train.jsonl'), train);
  writeFileSync(path.join(folder, 'test.jsonl'), test);
}
