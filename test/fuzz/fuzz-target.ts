import { corpusOf } from './corpus';
import { minimise } from './minimise';
import type { MutationSource } from './mutate';
import { mutated, seedOf } from './mutate';
import type { Finding, FuzzTarget } from './target';
import { findFault, kindOfFinding } from './target';
import { loadTarget } from './targets';

export interface FuzzOrder {
  readonly target: string;
  readonly seed: number;
  /** Number of the first input. */
  readonly begin: number;
  readonly runs: number;
  readonly milliseconds: number;
  /** [0]: number of the input under way. */
  readonly progress: SharedArrayBuffer;
}

export type FuzzMessage =
  | { readonly type: 'ready' }
  | {
      readonly type: 'finding';
      readonly index: number;
      readonly finding: Finding;
      readonly bytes: Uint8Array;
    }
  | { readonly type: 'done'; readonly next: number };

export function inputOf(target: FuzzTarget, seed: number, index: number): Uint8Array {
  return mutated(sourceOf(target), seedOf(seed, target.name, index));
}

const sources = new Map<string, MutationSource>();

function sourceOf(target: FuzzTarget): MutationSource {
  const known = sources.get(target.name);
  if (known) return known;
  const inputs = [
    ...target.seeds().map((seed) => Buffer.from(seed)),
    ...corpusOf(target.name).map(({ bytes }) => bytes),
  ];
  const source = { inputs, words: target.words ?? [] };
  sources.set(target.name, source);
  return source;
}

/** Runs inputs one after another, and tells each kind of finding once. */
export async function fuzzTarget(order: FuzzOrder, tell: (message: FuzzMessage) => void): Promise<void> {
  const target = await loadTarget(order.target);
  const progress = new Int32Array(order.progress);
  const told = new Set<string>();
  tell({ type: 'ready' });
  const end = performance.now() + order.milliseconds;
  let index = order.begin;
  for (; index < order.runs && performance.now() < end; index++) {
    Atomics.store(progress, 0, index);
    const bytes = inputOf(target, order.seed, index);
    const finding = await findFault(target, bytes);
    if (finding === null || told.has(kindOfFinding(finding))) continue;
    told.add(kindOfFinding(finding));
    // Minimising takes longer than any input may.
    Atomics.store(progress, 1, 1);
    const isSame = async (shorter: Uint8Array) => {
      const found = await findFault(target, shorter);
      return found !== null && kindOfFinding(found) === kindOfFinding(finding);
    };
    const smallest = finding.what === 'threw' ? await minimise(bytes, isSame) : bytes;
    Atomics.store(progress, 1, 0);
    tell({ type: 'finding', index, finding, bytes: smallest });
  }
  await target.close?.();
  tell({ type: 'done', next: index });
}
