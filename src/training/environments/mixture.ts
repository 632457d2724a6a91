import { largestOf } from '../../core/extremes';
import { largestRemainders } from '../../core/largest-remainders';
import { createRandom, shuffledIndices } from '../../core/random';
import type { EnvironmentDataset } from './environment-dataset';
import type { GroupOrder } from './group-order';
import { createGroupOrder } from './group-order';
import { listedDataset } from './listed-dataset';

/** One of the datasets that are mixed. */
export interface MixturePart {
  /** A tag of its problems, by which metrics are split. */
  readonly name: string;
  /** Its share of the groups, as a number beside those of the others. */
  readonly weight: number;
  readonly dataset: EnvironmentDataset;
}

/** Groups among which every part has exactly its share. */
const BLOCK = 1000;

/**
 * Several datasets as one. Groups come in blocks in which each part has its share, shuffled by the seed; within its share a
 * part gives its problems in passes of its own, so that a small one is repeated and a large one is not cut short.
 */
export function mixedEnvironments(given: readonly MixturePart[]): EnvironmentDataset {
  const parts = given.map((part) => ({ ...part, spareTag: spareTagOf(part, given) }));
  const tests = parts.flatMap((part) => (part.dataset.test ? [{ ...part, dataset: part.dataset.test }] : []));
  const places = inTurns(tests.map(({ dataset }) => dataset.length));
  const test = listedDataset('mixture', places, {
    groupOf: ({ part, index }) => groupOf(tests[part], index),
    test: null,
  });
  const starts = startsOf(parts);
  return {
    name: 'mixture',
    length: parts.reduce((sum, { dataset }) => sum + dataset.length, 0),
    groupAt(index) {
      const part = starts.findLastIndex((start) => start <= index);
      return groupOf(parts[part], index - (starts[part] ?? 0));
    },
    judges: parts.flatMap(({ dataset }) => dataset.judges ?? []),
    leftOut: parts.flatMap(({ dataset }) => dataset.leftOut ?? []),
    orderOf: (seed) => mixedOrder(parts, starts, seed),
    test: test.length > 0 ? test : null,
  };
}

type TaggedPart = Pick<MixturePart, 'name' | 'dataset'> & { readonly spareTag: string | null };

function groupOf(part: TaggedPart | undefined, index: number) {
  if (!part) throw new RangeError(`The mixture has no problem at ${index}.`);
  const group = part.dataset.groupAt(index);
  const [first] = group.tags;
  const tags = group.tags.length === 1 && first === part.spareTag ? [] : group.tags;
  return { ...group, tags: [...new Set([part.name, ...tags])] };
}

/**
 * What a part calls itself, where its name in the mixture says the same of the same groups. Kept where parts share either of them, and
 * beside other tags of a group, which somebody chose.
 */
function spareTagOf({ name, dataset }: MixturePart, parts: readonly MixturePart[]): string | null {
  const isShared = (tag: string) =>
    parts.filter((part) => [part.name, part.dataset.name].includes(tag)).length > 1;
  return isShared(name) || isShared(dataset.name) ? null : dataset.name;
}

function mixedOrder(parts: readonly MixturePart[], starts: readonly number[], seed: number): GroupOrder {
  const random = createRandom(seed);
  const orders = parts.map(({ dataset }) =>
    createGroupOrder({ length: dataset.length, seed: Math.floor(random() * 2 ** 31) }),
  );
  const shares = largestRemainders(
    parts.map(({ weight }) => weight),
    BLOCK,
  );
  const dealt = shares.flatMap((share, part) => Array.from({ length: share }, () => part));
  let current = { block: -1, picks: picksOf([]) };
  return (groupNumber) => {
    const block = Math.floor(groupNumber / BLOCK);
    if (block !== current.block) {
      const order = shuffledIndices(BLOCK, blockSeed(seed, block));
      current = { block, picks: picksOf([...order].map((index) => dealt[index] ?? 0)) };
    }
    const { part, rank } = current.picks[groupNumber % BLOCK] ?? { part: 0, rank: 0 };
    return (starts[part] ?? 0) + (orders[part]?.(block * (shares[part] ?? 0) + rank) ?? 0);
  };
}

interface Dealt {
  readonly part: number;
  /** How many of the part come before it in its block. */
  readonly rank: number;
}

function picksOf(parts: readonly number[]): Dealt[] {
  const counts = new Map<number, number>();
  return parts.map((part) => {
    const rank = counts.get(part) ?? 0;
    counts.set(part, rank + 1);
    return { part, rank };
  });
}

function blockSeed(seed: number, block: number): number {
  return (Math.imul(seed ^ 0x6d2b79f5, 0x9e3779b1) + Math.imul(block + 1, 0x85ebca6b)) >>> 1;
}

function startsOf(parts: readonly MixturePart[]): number[] {
  let next = 0;
  return parts.map(({ dataset }) => {
    const start = next;
    next += dataset.length;
    return start;
  });
}

/** Problems of all lists, one of each in turn, so that the first so many of them are of every kind. */
function inTurns(lengths: readonly number[]): { readonly part: number; readonly index: number }[] {
  const longest = Math.max(0, largestOf(lengths));
  return Array.from({ length: longest }, (_, index) =>
    lengths.flatMap((length, part) => (index < length ? [{ part, index }] : [])),
  ).flat();
}
