import { findModels, loadModel } from '../../../../../src/engines/local/compute/base-model';
import { URGENCY } from '../../../../../src/engines/local/compute/decode';
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

const NOBODY = { waitingJobs: 0, idleThreads: 0 };

function urgencyOf({ input }: ReturnType<typeof nextDecode>): number {
  return Atomics.load(heap.integers, input.urgency / 4);
}

test('a cancelled call that is being drawn ends its quantum, and the next quanta are not hurried', () => {
  const queue = new SamplingQueue(heap, 1);
  const errors: unknown[] = [];
  const task = taskOf([1, 2, 3], (error) => errors.push(error));
  queue.add(task);
  const quantum = nextDecode(queue);
  queue.hurry(NOBODY);
  const before = urgencyOf(quantum);

  queue.cancel(task, 'no longer wanted');
  const after = urgencyOf(quantum);
  quantum.fail();
  queue.hurry(NOBODY);

  expect([before, after, urgencyOf(quantum)]).toEqual([URGENCY.none, URGENCY.waiting, URGENCY.none]);
  expect(errors).toEqual(['no longer wanted']);
});

test('a cancelled call that waits for its turn leaves the quantum of others alone', () => {
  const queue = new SamplingQueue(heap, 1);
  queue.add(taskOf([1, 2, 3]));
  const quantum = nextDecode(queue);
  const waiting = taskOf([4, 5]);
  queue.add(waiting);

  queue.cancel(waiting, 'no longer wanted');
  queue.hurry(NOBODY);

  expect(urgencyOf(quantum)).toBe(URGENCY.none);
  expect(queue.next()).toBeNull();
});

test('an idle thread asks for a share of what others draw, and a job that waits goes before it', () => {
  const queue = new SamplingQueue(heap, 2);
  queue.add(taskOf([1, 2, 3]));
  const quantum = nextDecode(queue);

  const urgencies = [
    { waitingJobs: 0, idleThreads: 1 },
    { waitingJobs: 1, idleThreads: 1 },
    { waitingJobs: 0, idleThreads: 0 },
  ].map((demand) => {
    queue.hurry(demand);
    return urgencyOf(quantum);
  });

  expect(urgencies).toEqual([URGENCY.idleThread, URGENCY.waiting, URGENCY.none]);
});
