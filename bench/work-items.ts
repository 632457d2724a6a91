/** One request as the engine worked on it, on the engine's clock. */
export interface WorkItem {
  readonly kind: 'forwardBackward' | 'optimStep' | 'sample';
  readonly startMs: number;
  readonly endMs: number;
}

export interface WorkSummary {
  readonly stepCount: number;
  /** First start to last end. */
  readonly wallMs: number;
  readonly busyMs: number;
  /** Wall over busy time; 1 means the engine never waited. */
  readonly ratio: number;
  /** Idle times of the engine longer than `LONG_GAP_MS`. */
  readonly longGaps: readonly number[];
  readonly shortGapsMs: number;
}

/** What a request over the wire may take between two steps; longer means that somebody was not ready. */
const LONG_GAP_MS = 5;

/** Of the training lane alone. */
export function summarizeWork(done: readonly WorkItem[]): WorkSummary {
  const items = done.filter(({ kind }) => kind !== 'sample');
  const [first] = items;
  const last = items.at(-1);
  if (!first || !last) throw new Error('The engine has done no work.');
  const busyMs = items.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  const wallMs = last.endMs - first.startMs;
  const gaps = items.slice(1).map(({ startMs }, index) => startMs - (items[index]?.endMs ?? startMs));
  return {
    stepCount: items.filter(({ kind }) => kind === 'optimStep').length,
    wallMs,
    busyMs,
    ratio: wallMs / busyMs,
    longGaps: gaps.filter((gap) => gap > LONG_GAP_MS),
    shortGapsMs: gaps.filter((gap) => gap <= LONG_GAP_MS).reduce((sum, gap) => sum + gap, 0),
  };
}

/** Time in which anything was worked on, however much at once. */
export function busyTime(items: readonly WorkItem[]): number {
  let [busyMs, reachedMs] = [0, -Infinity];
  for (const { startMs, endMs } of [...items].sort((one, other) => one.startMs - other.startMs)) {
    busyMs += Math.max(0, endMs - Math.max(startMs, reachedMs));
    reachedMs = Math.max(reachedMs, endMs);
  }
  return busyMs;
}

/** The value below which this share of the values lies; NaN where there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  const high = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return (low + high) / 2;
}
