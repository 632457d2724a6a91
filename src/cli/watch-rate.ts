/** Steps a second over the last moments, which is what a person wants to know, not the mean since the start. */
export interface Rate {
  add(step: number, atMs: number): void;
  /** Null until two different steps were seen. */
  perSecond(): number | null;
}

const WINDOW_MS = 15_000;

export function createRate(): Rate {
  let seen: { step: number; atMs: number }[] = [];
  return {
    add(step, atMs) {
      const last = seen.at(-1);
      if (last && step < last.step) seen = [];
      seen = [...seen.filter((point) => atMs - point.atMs <= WINDOW_MS), { step, atMs }];
    },
    perSecond() {
      const first = seen[0];
      const last = seen.at(-1);
      if (!first || !last || last.step === first.step) return null;
      return ((last.step - first.step) * 1000) / (last.atMs - first.atMs);
    },
  };
}
