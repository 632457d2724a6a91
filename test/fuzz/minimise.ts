const MOST_TRIES = 300;

/** Leaves out what the fault does not need, in ever smaller pieces; ends after some hundred tries. */
export async function minimise(
  bytes: Uint8Array,
  isStillFaulty: (bytes: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  let best = bytes;
  let tries = 0;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && tries < MOST_TRIES; tries++) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await isStillFaulty(shorter)) best = shorter;
      else at += size;
    }
  }
  return best;
}
