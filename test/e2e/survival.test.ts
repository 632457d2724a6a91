import { createRandom } from '../../src/core/random';
import { kill, Place, until } from './harness/program';

/**
 * A run whose every process is killed, one after the other and all at once, at moments drawn from a fixed seed,
 * must leave what its undisturbed twin leaves.
 */
const STEPS = 260;

let place: Place;

beforeEach(() => {
  place = new Place();
});

afterEach(() => place.remove(), 30_000);

interface Shown {
  readonly status: string;
  readonly finalWeightsDigest: string | null;
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

test('kill -9 of every process, alone and together, changes nothing of what a run leaves', async () => {
  const config = place.config({ steps: STEPS, batchSize: 64, evalEvery: 25, saveEvery: 20 });
  const random = createRandom(20_261_121);
  const moment = () => new Promise((resolve) => setTimeout(resolve, random() * 400));
  let dev = await place.dev();
  expect((await place.run('train', config, '--run', 'calm')).code).toBe(0);

  expect((await place.run('train', config, '--run', 'hunted', '--detach')).code).toBe(0);
  await until(() => place.stepsDone('hunted') >= 10);
  await moment();
  kill(pidOf('worker'));
  const killedAt = performance.now();
  const stepsThen = place.stepsDone('hunted');
  await until(() => place.stepsDone('hunted') > stepsThen);
  const seconds = (performance.now() - killedAt) / 1000;

  const attacks: (() => void)[] = [
    () => {
      kill(pidOf('engine'));
    },
    killServer,
    () => {
      for (const { pid } of place.stack().children) kill(pid);
      killServer();
    },
  ];
  for (const [index, attack] of attacks.entries()) {
    await until(() => place.stepsDone('hunted') >= 35 + 25 * index);
    await moment();
    attack();
  }
  await until(() => place.stepsDone('hunted') >= 110);
  await moment();
  kill(dev.child.pid ?? 0);
  place.killAll();
  await dev.ended;
  const stepsAtTheEnd = place.stepsDone('hunted');
  dev = await place.dev();

  expect((await place.run('runs', 'watch', 'hunted')).code).toBe(0);
  expect(stepsAtTheEnd).toBeLessThan(STEPS);
  expect(await outcomeOf('hunted')).toEqual(await outcomeOf('calm'));
  process.stderr.write(`kill -9 of the worker to the next metrics row: ${seconds.toFixed(1)} s\n`);
  expect(seconds).toBeLessThan(20);
}, 150_000);
