import { EngineProxy } from '../chaos/engine-proxy';
import { readAppliedSteps } from '../chaos/ledger';
import { findLeftovers } from '../chaos/leftovers';
import { findFreePort } from '../../src/stack/free-port';
import { findStack } from '../../src/stack/stack-record';
import { kill, Place, until } from './harness/program';

/**
 * A run that does not hear many answers, and whose every process is killed, one after the other and all at once, must leave
 * what its undisturbed twin leaves, and nothing else.
 * A proxy before the engine holds its updates, so that it never ends before it is killed again.
 */
const STEPS = 64;
const FIRST = 10;

let place: Place;
let proxy: EngineProxy;

beforeEach(() => {
  place = new Place();
});

afterEach(async () => {
  await place.remove();
  await proxy.dispose();
});

interface Shown {
  readonly status: string;
  readonly finalWeightsDigest: string | null;
  readonly rewinds: number;
  readonly stepsReplayed: number;
}

interface Scores {
  readonly scores: readonly {
    readonly at: string;
    readonly step: number;
    readonly key: string;
    readonly schedule: string;
  }[];
}

/** What a run leaves, without the times at which scores were final. */
async function outcomeOf(run: string): Promise<object> {
  const { status, finalWeightsDigest } = await place.ask<Shown>('runs', 'show', run);
  const { scores } = await place.ask<Scores>('runs', 'scores', run);
  const rows = scores.map((row) => {
    const { at, ...rest } = row;
    expect(Date.parse(at)).not.toBeNaN();
    return JSON.stringify(rest);
  });
  return { status, finalWeightsDigest, metrics: place.read(run, 'metrics.jsonl'), scores: rows.sort() };
}

function pidOf(name: string): number {
  return place.stack().children.find((child) => child.name === name)?.pid ?? 0;
}

function killServer(): void {
  for (const { pid, line } of place.processes()) if (line.includes('start-dev')) kill(pid);
}

test('lost answers and kill -9 of every process, alone and together, change nothing of what a run leaves', async () => {
  let dev = await place.dev();
  const { engineUrl, temporalAddress, children } = place.stack();
  proxy = new EngineProxy(await findFreePort(), Number(new URL(engineUrl).port));
  await proxy.open();
  const sizes = { steps: STEPS, batchSize: 8, evalEvery: 10, saveEvery: 4 };
  const config = place.config({ ...sizes, engine: { url: proxy.url } });
  expect((await place.runHere('train', config, '--run', 'calm')).code).toBe(0);

  const attacks: readonly (() => void)[] = [
    () => {
      kill(pidOf('worker'));
    },
    () => {
      kill(pidOf('engine'));
    },
    killServer,
    () => {
      for (const { pid } of place.stack().children) kill(pid);
      killServer();
    },
  ];
  proxy.updates.holdAfter(FIRST);
  const started = place.runHere('train', config, '--run', 'hunted', '--detach');
  const standing = started.then(() => until(() => proxy.updates.isHolding));
  const lostAnswers = await proxy.during('answers-dropped', 1, standing);
  for (const attack of attacks) {
    const before = place.stepsDone('hunted');
    attack();
    // What was under way before may still have come through. Updates of clients that are gone are let through as well.
    await until(() => {
      if (proxy.updates.isHolding) proxy.updates.goOn(1);
      return place.stepsDone('hunted') > before + 2;
    });
  }
  const restarted = place.stack();
  kill(dev.child.pid ?? 0);
  place.killAll();
  await dev.ended;
  const stepsAtTheEnd = place.stepsDone('hunted');
  proxy.updates.letGo();
  dev = await place.dev();
  expect((await place.runHere('runs', 'watch', 'hunted')).code).toBe(0);

  const { rewinds, stepsReplayed } = await place.ask<Shown>('runs', 'show', 'hunted');
  const leftovers = await findLeftovers({ address: temporalAddress, engineUrl });
  const applied = readAppliedSteps({ dataFolder: place.data, steps: 2 * STEPS, stepsReplayed });
  expect((await started).code).toBe(0);
  expect(lostAnswers).toBeGreaterThan(0);
  expect(rewinds).toBeGreaterThan(0);
  expect(leftovers.violations).toEqual([]);
  expect(applied?.violations).toEqual([]);
  expect(stepsAtTheEnd).toBeLessThan(STEPS);
  expect(await outcomeOf('hunted')).toEqual(await outcomeOf('calm'));
  expect(restarted).toMatchObject({ engineUrl, temporalAddress });
  expect(restarted.children.map(({ name }) => name)).toEqual(children.map(({ name }) => name));
  for (const { pid } of children) expect(restarted.children.map((child) => child.pid)).not.toContain(pid);

  dev.child.kill('SIGINT');
  expect((await dev.ended).code).toBe(130);
  expect(place.processes()).toEqual([]);
  expect(findStack(place.data)).toBeNull();
});
