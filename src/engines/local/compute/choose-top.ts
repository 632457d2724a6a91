/**
 * The `count` tokens with the highest logits, highest first, ties by id. A heap of those kept so far, the worst
 * on top, so that a large vocabulary is read once and not sorted.
 */
export function chooseTop(logits: Float32Array, count: number): Int32Array {
  const size = Math.min(count, logits.length);
  const heap = Int32Array.from({ length: size }, (_, token) => token);
  const isWorse = (left: number, right: number): boolean => {
    const difference = (logits[left] ?? 0) - (logits[right] ?? 0);
    return difference === 0 ? left > right : difference < 0;
  };
  for (let index = (size >> 1) - 1; index >= 0; index--) sink(heap, index, isWorse);
  for (let token = size; token < logits.length && size > 0; token++) {
    if (!isWorse(heap[0] ?? 0, token)) continue;
    heap[0] = token;
    sink(heap, 0, isWorse);
  }
  return heap.sort((left, right) => (isWorse(left, right) ? 1 : -1));
}

/** Brings what stands at `start` below everything worse under it. */
function sink(heap: Int32Array, start: number, isWorse: (left: number, right: number) => boolean): void {
  const at = (index: number): number => heap[index] ?? 0;
  const moving = at(start);
  let index = start;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isWorse(at(child + 1), at(child))) child++;
    if (!isWorse(at(child), moving)) break;
    heap[index] = at(child);
    index = child;
  }
  heap[index] = moving;
}
