import { findModels, loadModel } from '../../../../../src/engines/local/compute/base-model';
import type { DecodedTokens } from '../../../../../src/engines/local/compute/decode';
import { SamplingQueue } from '../../../../../src/engines/local/compute/sampling-queue';
import { SamplingTask } from '../../../../../src/engines/local/compute/sampling-task';
import { SharedHeap } from '../../../../../src/engines/local/compute/shared-heap';
import { createDecode } from '../../../../../src/engines/local/compute/stop-conditions';
import type { Decode } from '../../../../../src/engines/local/compute/stop-conditions';
import { CHARACTERS, RANDOM_MODEL, writeRandomModel } from './random-model';

/** Sequences that end at the text "x", without threads: a quantum ends as the test says. */

const folder = writeRandomModel();
const heap = new SharedHeap(32);
const found = findModels([folder]).get(RANDOM_MODEL);
if (found === undefined) throw new Error('The test has no model.');
const { shape, weights, rotations } = loadModel(heap, found);
const network = { shape, weights, rotations, isPacked: true, adapter: null };
const decode = createDecode(found.info.folder);

function start(
  callCount: number,
  decodeOfCalls: Decode = decode,
): {
  readonly quantum: (drawn: readonly (string | null)[]) => void;
  readonly outcomes: readonly (string | null)[];
} {
  const queue = new SamplingQueue(heap, 1);
  const sampler = { network, decode: decodeOfCalls };
  const params = { maxTokens: 8, temperature: 1, topK: -1, topP: 1, seed: 3, stop: ['x'] };
  const outcomes = Array.from({ length: callCount }, (): string | null => null);
  for (const index of outcomes.keys()) {
    const task = new SamplingTask(
      {
        sampler,
        request: { prompt: [1, 2, 3], numSamples: 1, params },
        stops: { tokens: [], texts: ['x'] },
        seed: index,
      },
      {
        resolve: ({ sequences }) => (outcomes[index] = decode(sequences[0]?.tokens ?? [])),
        reject: (error) => (outcomes[index] = String(error)),
      },
    );
    queue.add(task);
  }
  return {
    outcomes,
    quantum: (drawn) => {
      queue.next()?.settle({ output: { sequences: drawn.map(decoded) } });
    },
  };
}

/** What a thread says of a sequence; null where the quantum ended before its prompt had its turn. */
function decoded(text: string | null): DecodedTokens {
  const tokens = Array.from(text ?? '', (character) => CHARACTERS.indexOf(character) + 2);
  return {
    isPrefilled: text !== null,
    tokens,
    logprobs: tokens.map(() => -1),
    isStopped: false,
    top: [],
  };
}

test('a sequence whose prompt had no turn yet is drawn on in the next quantum', () => {
  const { quantum, outcomes } = start(2);

  quantum(['abx', null]);
  const afterOne = [...outcomes];
  quantum(['cxy']);

  expect(afterOne).toEqual(['abx', null]);
  expect(outcomes).toEqual(['abx', 'cx']);
});

test('a text that cannot be decoded fails its own call by name, and the others are drawn on', () => {
  const { quantum, outcomes } = start(2, (tokens) => {
    if (decode(tokens).startsWith('q')) throw new Error('no such token');
    return decode(tokens);
  });

  quantum(['qa', 'ab']);
  quantum(['x']);

  expect(outcomes).toEqual(['DomainError: Sampling failed: no such token', 'abx']);
});
