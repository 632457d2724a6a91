import { findModels, loadModel } from '../../../../../src/engines/local/compute/base-model';
import { decode, FEWEST_SEQUENCES, URGENCY } from '../../../../../src/engines/local/compute/decode';
import { cacheFloatsPerPosition } from '../../../../../src/engines/local/compute/forward';
import { JOB_HANDLERS } from '../../../../../src/engines/local/compute/jobs';
import { loadKernels } from '../../../../../src/engines/local/compute/kernels';
import { weightsLayout } from '../../../../../src/engines/local/compute/network';
import { SharedHeap } from '../../../../../src/engines/local/compute/shared-heap';
import { Workspace } from '../../../../../src/engines/local/compute/workspace';
import type { DecodedTokens, DecodingSequence } from '../../../../../src/engines/local/compute/decode';
import { CONTEXT_LENGTH, RANDOM_MODEL, writeRandomModel } from './random-model';

/** One quantum of drawing, without threads: what fits into it is in the test's hands. */

const WORKING_FLOATS = 1 << 20;

const folder = writeRandomModel();
const heap = new SharedHeap(32);
const space = new Workspace(loadKernels('plain', heap.memory), heap.memory);
const found = findModels([folder]).get(RANDOM_MODEL);
if (found === undefined) throw new Error('The test has no model.');
const { shape, weights, rotations } = loadModel(heap, found);
const plain = { shape, weights, rotations, isPacked: false, adapter: null };
const target = heap.allocate(weightsLayout(shape, true).size, 'a test');
const arena = heap.allocate(WORKING_FLOATS, 'a test');
const urgency = heap.allocate(1, 'a test');
const network = { ...plain, weights: target, isPacked: true };

function startQuantum(): void {
  space.use({ start: arena, end: arena + WORKING_FLOATS * 4 });
}

function sequenceOf(prompt: readonly number[], seed: number): DecodingSequence {
  return {
    cache: heap.allocate(CONTEXT_LENGTH * cacheFloatsPerPosition(shape), 'a test'),
    prompt: prompt.slice(0, -1),
    position: prompt.length - 1,
    lastToken: prompt.at(-1) ?? 0,
    seed,
    drawn: 0,
    remaining: 5,
    stopTokens: [],
    draw: { temperature: 1, topK: -1, topP: 1 },
    topCount: 0,
  };
}

interface Limits {
  readonly quantumMs: number;
  readonly longestQuantumMs?: number;
  readonly mostPromptRows: number;
}

function quantum(
  sequences: readonly DecodingSequence[],
  { quantumMs, longestQuantumMs = quantumMs, mostPromptRows }: Limits,
): readonly DecodedTokens[] {
  startQuantum();
  return decode(space, { network, sequences, quantumMs, longestQuantumMs, urgency, mostPromptRows })
    .sequences;
}

function setUrgency(value: number): void {
  Atomics.store(heap.integers, urgency / 4, value);
}

function manySequences(count: number, remaining: number): DecodingSequence[] {
  return Array.from({ length: count }, (_, index) => ({ ...sequenceOf([1, 2, 3], index), remaining }));
}

beforeAll(() => {
  startQuantum();
  JOB_HANDLERS.pack(space, { network: plain, target });
});

test('prompts that a quantum has no time for wait for the next, and are drawn after as if they had not', () => {
  const prompts = [[1, 2, 3, 4, 5], [6], [7, 8, 9], [10, 11, 12, 13, 14, 15]];
  const whole = quantum(prompts.map(sequenceOf), { quantumMs: 60_000, mostPromptRows: 128 });
  const sequences = prompts.map(sequenceOf);

  const first = quantum(sequences, { quantumMs: 0, mostPromptRows: 6 });
  const waiting = sequences.filter((_, index) => first[index]?.isPrefilled === false);
  const second = quantum(waiting, { quantumMs: 60_000, mostPromptRows: 6 });

  expect(first.map(({ isPrefilled }) => isPrefilled)).toEqual([true, true, true, false]);
  expect(first.map(({ tokens }) => tokens)).toEqual([
    ...whole.slice(0, 3).map(({ tokens }) => tokens.slice(0, 1)),
    [],
  ]);
  expect(second).toEqual(whole.slice(3));
  expect(whole.every(({ tokens }) => tokens.length === 5)).toBe(true);
});

describe('a quantum whose time is over', () => {
  const limits = { quantumMs: 0, longestQuantumMs: 60_000, mostPromptRows: 128 };

  afterEach(() => {
    setUrgency(URGENCY.none);
  });

  test('goes on until a sequence is done when nobody waits', () => {
    const [short, long] = [sequenceOf([1, 2, 3], 0), { ...sequenceOf([4, 5], 1), remaining: 9 }];

    const decoded = quantum([short, long], limits);

    expect(decoded.map(({ tokens }) => tokens.length)).toEqual([5, 5]);
  });

  test('ends at once when somebody waits for the thread', () => {
    setUrgency(URGENCY.waiting);

    const decoded = quantum([sequenceOf([1, 2, 3], 0), sequenceOf([4, 5], 1)], limits);

    expect(decoded.map(({ tokens }) => tokens.length)).toEqual([1, 1]);
  });

  test('ends for an idle thread when there is enough to share, and no other ends for it too', () => {
    setUrgency(URGENCY.idleThread);
    const enough = 2 * FEWEST_SEQUENCES;

    const first = quantum(manySequences(enough, 12), limits);
    const second = quantum(manySequences(enough, 12), limits);

    expect(first.map(({ tokens }) => tokens.length)).toEqual(Array.from({ length: enough }, () => 1));
    expect(second.map(({ tokens }) => tokens.length)).toEqual(Array.from({ length: enough }, () => 12));
  });

  test.each([
    ['few sequences', 2 * FEWEST_SEQUENCES - 1, 12],
    ['few tokens', 2 * FEWEST_SEQUENCES, 5],
  ])('goes on beside an idle thread with %s to share', (_, count, remaining) => {
    setUrgency(URGENCY.idleThread);

    const decoded = quantum(manySequences(count, remaining), limits);

    expect(decoded.map(({ tokens }) => tokens.length)).toEqual(
      Array.from({ length: count }, () => remaining),
    );
  });

  test('ends at once while prompts wait for their turn', () => {
    const decoded = quantum([sequenceOf([1, 2, 3], 0), sequenceOf([4, 5, 6], 1)], {
      ...limits,
      mostPromptRows: 2,
    });

    expect(decoded.map(({ tokens }) => tokens.length)).toEqual([1, 0]);
  });

  test('draws what several quanta would have', () => {
    const whole = quantum([sequenceOf([7, 8, 9], 3)], limits);
    const sequence = sequenceOf([7, 8, 9], 3);
    const [first] = quantum([sequence], { ...limits, longestQuantumMs: 0 });
    const [token = -1] = first?.tokens ?? [];

    const rest = quantum(
      [{ ...sequence, prompt: [], position: 3, lastToken: token, drawn: 1, remaining: 4 }],
      limits,
    );

    expect([token, ...(rest[0]?.tokens ?? [])]).toEqual(whole[0]?.tokens);
    expect(first?.tokens).toHaveLength(1);
  });
});
