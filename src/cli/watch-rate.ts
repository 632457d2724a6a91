/** Steps a second over the last moments, which is what a person wants to know, not the mean since the start. */
export interface Rate {
  add(step: number, atMs: number): void;
  /** Null until two different steps were seen. */
  perSecond(): number | null;
}

const WINDOW_MS = 15_000;
/** Of slow ones some more, or the rate would be that of the last one alone. */
const LEAST_STEPS = 8;
/** A wait of so many usual ones is no chance any more: it counts. */
const LONG_WAIT = 2;

export function createRate(): Rate {
  let seen: { step: number; atMs: number }[] = [];
  let nowMs = 0;
  return {
    add(step, atMs) {
      nowMs = atMs;
      const last = seen.at(-1);
      if (last?.step === step) return;
      if (last && step < last.step) seen = [];
      seen.push({ step, atMs });
      for (let [, second] = seen; second && isEnough(second, { step, atMs }); [, second] = seen) seen.shift();
    },
    perSecond() {
      const first = seen[0];
      const last = seen.at(-1);
      if (!first || !last || last.step === first.step) return null;
      const steps = last.step - first.step;
      const tookMs = last.atMs - first.atMs;
      const isWaiting = nowMs - last.atMs > (LONG_WAIT * tookMs) / steps;
      return (steps * 1000) / (isWaiting ? nowMs - first.atMs : tookMs);
    },
  };
}

function isEnough(
  from: { step: number; atMs: number },
  { step, atMs }: { step: number; atMs: number },
): boolean {
  return atMs - from.atMs >= WINDOW_MS && step - from.step >= LEAST_STEPS;
}
