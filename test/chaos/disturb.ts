import { rmSync, writeFileSync } from 'node:fs';
import type { Fault } from './engine-proxy';
import type { ChaosEvent, EventKind } from './events';
import type { Service } from './service';
import { sleep } from './service';
import type { Site } from './site';

/** What a graceful stop of a worker may take before a deployment kills it. */
const STOP_LIMIT_MS = 12_000;
const SLOW_WRITE_MS = 40;

/** Some say how many requests they struck. */
type Act = (site: Site, event: ChaosEvent) => Promise<unknown>;

const network =
  (fault: Fault): Act =>
  ({ proxy }, { seed, durationMs }) =>
    proxy.during(fault, seed, sleep(durationMs));

const ACTS: Readonly<Record<EventKind, Act>> = {
  'worker-kill': (site, event) => restart(site, site.workers[event.worker], event.durationMs),
  'workers-kill': (site, event) => restartAll(site, site.workers, event.durationMs),
  'worker-zombie': (site, event) => freeze(site.workers[event.worker], event.durationMs),
  'worker-upgrade': upgrade,
  'engine-kill': (site, event) => restart(site, site.engine, event.durationMs),
  'engine-freeze': (site, event) => freeze(site.engine, event.durationMs),
  'engine-unreachable': (site, event) => cutOff(site, event.durationMs),
  'server-kill': (site, event) => restart(site, site.server, event.durationMs),
  'server-freeze': (site, event) => freeze(site.server, event.durationMs),
  'everything-kill': (site, event) => restartAll(site, site.services, event.durationMs),
  'answers-dropped': network('answers-dropped'),
  'answers-delayed': network('answers-delayed'),
  'requests-doubled': network('requests-doubled'),
  'connections-reset': network('connections-reset'),
  'disk-full': (site, event) => fillDisk(site, event.durationMs),
  'disk-slow': (site, event) => slowDisk(site, event.durationMs),
};

/** Carries one disturbance out, to its end: everything it took away is back when this resolves. */
export async function disturb(site: Site, event: ChaosEvent): Promise<unknown> {
  return ACTS[event.kind](site, event);
}

async function restartAll(site: Site, services: readonly Service[], downMs: number): Promise<void> {
  await Promise.all(services.map((service) => restart(site, service, downMs)));
}

async function restart(site: Site, service: Service, downMs: number): Promise<void> {
  await service.exclusively(async () => {
    await service.kill();
    await sleep(downMs);
    await site.start(service);
  });
}

async function freeze(service: Service, durationMs: number): Promise<void> {
  await service.exclusively(async () => {
    service.freeze();
    await sleep(durationMs);
    service.thaw();
  });
}

/** One worker after the other gets the newer build, the first one that was meant. */
async function upgrade(site: Site, { worker, durationMs }: ChaosEvent): Promise<void> {
  const [one, other] = site.workers;
  for (const service of worker === 0 ? [one, other] : [other, one]) {
    await service.exclusively(async () => {
      await service.terminate(STOP_LIMIT_MS);
      await site.start(service, 'newer');
    });
    await sleep(durationMs);
  }
}

/** Turns of its own: two outages at once are one after the other. */
async function cutOff({ proxy }: Site, durationMs: number): Promise<void> {
  await proxy.exclusively(async () => {
    await proxy.close();
    await sleep(durationMs);
    await proxy.open();
  });
}

async function fillDisk({ disk }: Site, durationMs: number): Promise<void> {
  if (!disk) throw new Error('The store has no disk of its own.');
  const until = performance.now() + durationMs;
  // What is removed meanwhile makes room again.
  do {
    disk.fill();
    await sleep(100);
  } while (performance.now() < until);
  disk.free();
}

async function slowDisk({ slowDiskControl }: Site, durationMs: number): Promise<void> {
  writeFileSync(slowDiskControl, String(SLOW_WRITE_MS));
  await sleep(durationMs);
  rmSync(slowDiskControl, { force: true });
}
