/** What may befall a run. Times are drawn from a seed, so that a plan can be repeated; what the machine does between is not. */
export const EVENT_KINDS = [
  'worker-kill',
  'workers-kill',
  'worker-zombie',
  'worker-upgrade',
  'engine-kill',
  'engine-freeze',
  'engine-unreachable',
  'server-kill',
  'server-freeze',
  'everything-kill',
  'answers-dropped',
  'answers-delayed',
  'requests-doubled',
  'connections-reset',
  'disk-full',
  'disk-slow',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export interface ChaosEvent {
  readonly kind: EventKind;
  /** Strikes once this many rows are in metrics.jsonl… */
  readonly afterStep: number;
  /** …and this much later. */
  readonly delayMs: number;
  /** How long what was taken away stays away. */
  readonly durationMs: number;
  /** Which of the two workers, where one is meant. */
  readonly worker: 0 | 1;
  /** Decides over single requests. */
  readonly seed: number;
}

/** From and to, in milliseconds. A zombie sleeps beyond the heartbeat timeouts of segments (3 s), sessions (5 s) and evaluations (10 s). */
const DURATIONS: Readonly<Record<EventKind, readonly [number, number]>> = {
  'worker-kill': [0, 3000],
  'workers-kill': [0, 3000],
  'worker-zombie': [3500, 13_000],
  'worker-upgrade': [0, 2000],
  'engine-kill': [0, 3000],
  'engine-freeze': [500, 8000],
  'engine-unreachable': [500, 8000],
  'server-kill': [0, 3000],
  'server-freeze': [500, 6000],
  'everything-kill': [0, 2000],
  'answers-dropped': [500, 4000],
  'answers-delayed': [500, 4000],
  'requests-doubled': [500, 4000],
  'connections-reset': [500, 4000],
  'disk-full': [500, 6000],
  'disk-slow': [1000, 5000],
};
const LONGEST_DELAY_MS = 500;
/** How many of the events wait for the last step, to strike while the last evaluations run and the run is closed. */
const SHARE_AT_THE_END = 0.2;
const LONGEST_DELAY_AT_THE_END_MS = 2500;
const FEWEST_EVENTS = 2;
const MOST_EVENTS = 5;

export interface PlanRequest {
  readonly random: () => number;
  readonly kinds: readonly EventKind[];
  readonly steps: number;
}

/** Between two and five events, in the order in which they strike; they may overlap. */
export function drawEvents({ random, kinds, steps }: PlanRequest): ChaosEvent[] {
  const between = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
  const draw = (): ChaosEvent => {
    const kind = kinds[between(0, kinds.length - 1)] ?? 'worker-kill';
    const [shortest, longest] = DURATIONS[kind];
    const isAtTheEnd = random() < SHARE_AT_THE_END;
    return {
      kind,
      afterStep: isAtTheEnd ? steps : between(0, steps),
      delayMs: between(0, isAtTheEnd ? LONGEST_DELAY_AT_THE_END_MS : LONGEST_DELAY_MS),
      durationMs: between(shortest, longest),
      worker: random() < 0.5 ? 0 : 1,
      seed: between(1, 1_000_000_000),
    };
  };
  return Array.from({ length: between(FEWEST_EVENTS, MOST_EVENTS) }, draw).sort(
    (one, other) => one.afterStep - other.afterStep || one.delayMs - other.delayMs,
  );
}

/** Short enough for a table: `engine-kill@40+0.2s 1.3s`. */
export function describeEvent({ kind, afterStep, delayMs, durationMs }: ChaosEvent): string {
  const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)}s`;
  return `${kind}@${afterStep}+${seconds(delayMs)} ${seconds(durationMs)}`;
}
