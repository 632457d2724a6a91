import { createRandom } from '../../src/core/random';

/**
 * The cases of a long matrix that are run: all of them, or the share that EVERSTEP_DEEP_SHARE (0…1) leaves, drawn by
 * EVERSTEP_DEEP_SEED and never none. `npm run test:deep` sets both and says them, so that a failure can be had again.
 */
export function deepCases<Case>(cases: readonly Case[]): Case[] {
  const share = Number(process.env['EVERSTEP_DEEP_SHARE'] ?? 1);
  const random = createRandom(Number(process.env['EVERSTEP_DEEP_SEED'] ?? 0));
  const drawn = cases.map((item, index) => ({ item, index, draw: random() }));
  return drawn
    .sort((left, right) => left.draw - right.draw)
    .slice(0, Math.max(1, Math.ceil(cases.length * share)))
    .sort((left, right) => left.index - right.index)
    .map(({ item }) => item);
}

/**
 * How often a property is tried that `count` tries establish: a fifth of that in `npm test`, which has other numbers every time; all of
 * it in `npm run test:deep`, with its seed. There a suite below test/deep imports the suite of the property.
 */
export function propertyRuns(count = 100): { readonly numRuns: number; readonly seed?: number } {
  const seed = process.env['EVERSTEP_DEEP_SEED'];
  return seed === undefined ? { numRuns: Math.ceil(count / 5) } : { numRuns: count, seed: Number(seed) };
}

/** Of a list that each of many turns tries: every fifth, from another one on each turn; all of it in `npm run test:deep`. */
export function everyFifth<Case>(cases: readonly Case[], turn: number): Case[] {
  const isWhole = process.env['EVERSTEP_DEEP_SEED'] !== undefined;
  return cases.filter((_, index) => isWhole || (index + turn) % 5 === 0);
}
