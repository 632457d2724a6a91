import { createRandom } from '../../../../../src/core/random';
import { SharedHeap } from '../../../../../src/engines/local/compute/shared-heap';

test('blocks never overlap, and everything freed can be had again in one piece', () => {
  const heap = new SharedHeap(4);
  const random = createRandom(3);
  const largest = (heap.bytesTotal - 65536) / 4;
  const live = new Map<number, number>();
  for (let round = 0; round < 3000; round++) {
    const [oldest] = live.keys();
    const pointer = random() < 0.55 ? heap.tryAllocate(1 + Math.floor(random() * 9000)) : null;
    if (pointer !== null) {
      live.set(pointer, round + 1);
      heap.view(pointer, 1)[0] = round + 1;
    } else if (oldest !== undefined) {
      expect(heap.view(oldest, 1)[0]).toBe(live.get(oldest));
      live.delete(oldest);
      heap.free(oldest);
    }
  }
  for (const pointer of live.keys()) heap.free(pointer);

  expect(heap.bytesInUse).toBe(0);
  expect(heap.tryAllocate(largest)).not.toBeNull();
});

test('says what it had no room for', () => {
  const heap = new SharedHeap(4);

  expect(heap.tryAllocate(2 ** 24)).toBeNull();
  expect(() => heap.allocate(2 ** 24, 'a test')).toThrow('would need 64 MiB for a test and has 4 MiB in all');
  heap.allocate(2 ** 19, 'a test');
  expect(() => heap.allocate(2 ** 19, 'a test')).toThrow('The local engine has no 2 MiB left for a test');
});

test('freeing twice is harmless', () => {
  const heap = new SharedHeap(4);
  const first = heap.allocate(16, 'a test');
  heap.free(first);
  heap.free(first);

  expect(heap.allocate(16, 'a test')).toBe(first);
  expect(heap.allocate(16, 'a test')).not.toBe(first);
});
