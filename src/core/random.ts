/**
 * Seeded random numbers (mulberry32): small, fast and the same on every machine.
 * Good for shuffles and synthetic data, not for secrets.
 */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Fisher–Yates shuffle of 0…count-1, decided by the seed alone. */
export function shuffledIndices(count: number, seed: number): Int32Array {
  const random = createRandom(seed);
  const indices = Int32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const moved = indices[last] ?? 0;
    indices[last] = indices[other] ?? 0;
    indices[other] = moved;
  }
  return indices;
}
