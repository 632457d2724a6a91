import { createRandom } from '../../src/core/random';
import type { EndpointMood, EvalEndpoint } from './eval-endpoint';
import type { Service } from './service';
import { sleep } from './service';
import type { EvalSite } from './eval-site';

/** What may befall an evaluation. */
export const EVAL_EVENT_KINDS = [
  'worker-kill',
  'worker-freeze',
  'endpoint-kill',
  'server-kill',
  'errors',
  'full',
  'slow',
] as const;
export type EvalEventKind = (typeof EVAL_EVENT_KINDS)[number];

export interface EvalEvent {
  readonly kind: EvalEventKind;
  /** Strikes once so many questions are answered. */
  readonly afterAnswers: number;
  readonly durationMs: number;
}

/** From and to. A freeze may outlast the heartbeat of a shard, 5 s. */
const DURATIONS: Readonly<Record<EvalEventKind, readonly [number, number]>> = {
  'worker-kill': [0, 2000],
  'worker-freeze': [500, 8000],
  'endpoint-kill': [0, 4000],
  'server-kill': [0, 6000],
  errors: [200, 2000],
  full: [200, 1500],
  slow: [100, 400],
};

export interface EvalDraw {
  readonly seed: number;
  readonly kinds: readonly EvalEventKind[];
  readonly examples: number;
  readonly count: number;
}

/** Each kind in turn, from one the seed chooses, at moments it draws. */
export function drawEvalEvents({ seed, kinds, examples, count }: EvalDraw): EvalEvent[] {
  const random = createRandom(seed);
  const first = Math.floor(random() * kinds.length);
  const moments = Array.from({ length: count }, () => Math.floor(random() * examples * 0.9));
  return moments
    .sort((left, right) => left - right)
    .map((afterAnswers, index) => {
      const kind = kinds[(first + index) % kinds.length] ?? 'worker-kill';
      const [from, to] = DURATIONS[kind];
      return { kind, afterAnswers, durationMs: Math.round(from + random() * (to - from)) };
    });
}

export function describeEvalEvent({ kind, afterAnswers, durationMs }: EvalEvent): string {
  return `${kind}@${afterAnswers} ${durationMs} ms`;
}

/** Carries an event out, to its end. Returns how many requests it may cost beyond one an example. */
export async function disturbEval(site: EvalSite, { kind, durationMs }: EvalEvent): Promise<number> {
  return ACTS[kind](site, durationMs);
}

type Act = (site: EvalSite, durationMs: number) => Promise<number>;

const ACTS: Readonly<Record<EvalEventKind, Act>> = {
  'worker-kill': (site, durationMs) => restart(site, site.worker, durationMs),
  'server-kill': (site, durationMs) => restart(site, site.server, durationMs),
  async 'worker-freeze'({ endpoint, worker }, durationMs) {
    const { atStake } = endpoint;
    worker.freeze();
    await sleep(durationMs);
    worker.thaw();
    return atStake;
  },
  async 'endpoint-kill'({ endpoint }, durationMs) {
    const { atStake } = endpoint;
    await endpoint.down();
    await sleep(durationMs);
    await endpoint.up();
    return atStake;
  },
  async errors({ endpoint }, durationMs) {
    await during(endpoint, 'errors', durationMs);
    return 0;
  },
  async full({ endpoint }, durationMs) {
    await during(endpoint, 'full', durationMs);
    return 0;
  },
  async slow({ endpoint }, durationMs) {
    const before = endpoint.slowCount;
    await during(endpoint, 'slow', durationMs);
    return endpoint.slowCount - before;
  },
};

async function restart(site: EvalSite, service: Service, downMs: number): Promise<number> {
  const { atStake } = site.endpoint;
  await service.kill();
  await sleep(downMs);
  await site.start(service);
  return atStake;
}

async function during(endpoint: EvalEndpoint, mood: EndpointMood, durationMs: number): Promise<void> {
  endpoint.mood = mood;
  await sleep(durationMs);
  endpoint.mood = 'well';
}
