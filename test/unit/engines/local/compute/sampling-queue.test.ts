import { findModels, loadModel } from '../../../../../src/engines/local/compute/base-model';
import { SamplingQueue } from '../../../../../src/engines/local/compute/sampling-queue';
import { SamplingTask } from '../../../../../src/engines/local/compute/sampling-task';
import { SharedHeap } from '../../../../../src/engines/local/compute/shared-heap';
import type { JobRequest } from '../../../../../src/engines/local/compute/thread-pool';
import { RANDOM_MODEL, writeRandomModel } from './random-model';

/** Which sequences are drawn next, without threads: a quantum lasts until the test settles it. */

const folder = writeRandomModel();
const heap = new SharedHeap(32);
const found = findModels([folder]).get(RANDOM_MODEL);
if (found === undefined) throw new Error('The test has no model.');
const { shape, weights, rotations } = loadModel(heap, found);
const sampler = {
  network: { shape, weights, rotations, isPacked: true, adapter: null },
  decode: () => '',
};

function taskOf(prompt: readonly number[], reject: (error: unknown) => void = () => undefined): SamplingTask {
  const params = { maxTokens: 12, temperature: 1, topK: -1, topP: 1, seed: 3, stop: [] };
  return new SamplingTask(
    {
      sampler,
      request: { prompt, numSamples: 1, params },
      stops: { tokens: [], texts: [] },
      seed: 3,
    },
    { resolve: () => undefined, reject },
  );
}

function nextDecode(queue: SamplingQueue): {
  readonly input: JobRequest<'decode'>['input'];
  readonly fail: () => void;
} {
  const quantum = queue.next();
  if (quantum?.request.kind !== 'decode') throw new Error('Nothing is to be drawn.');
  const input = quantum.request.input as JobRequest<'decode'>['input'];
  return {
    input,
    fail: () => {
      quantum.settle({ error: 'the quantum ended' });
    },
  };
}

function isUrgent({ input }: ReturnType<typeof nextDecode>): boolean {
  return Atomics.load(heap.integers, input.urgency / 4) !== 0;
}

test('a cancelled call that is being drawn ends its quantum, and the next quanta are not hurried', () => {
  const queue = new SamplingQueue(heap, 1);
  const errors: unknown[] = [];
  const task = taskOf([1, 2, 3], (error) => errors.push(error));
  queue.add(task);
  const quantum = nextDecode(queue);
  queue.hurry(false);
  const before = isUrgent(quantum);

  queue.cancel(task, 'no longer wanted');
  const after = isUrgent(quantum);
  quantum.fail();
  queue.hurry(false);

  expect([before, after, isUrgent(quantum)]).toEqual([false, true, false]);
  expect(errors).toEqual(['no longer wanted']);
});

test('a cancelled call that waits for its turn leaves the quantum of others alone', () => {
  const queue = new SamplingQueue(heap, 1);
  queue.add(taskOf([1, 2, 3]));
  const quantum = nextDecode(queue);
  const waiting = taskOf([4, 5]);
  queue.add(waiting);

  queue.cancel(waiting, 'no longer wanted');
  queue.hurry(false);

  expect(isUrgent(quantum)).toBe(false);
  expect(queue.next()).toBeNull();
});
