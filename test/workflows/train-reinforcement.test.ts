import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalEngineOptions } from '../../src/engines/local/engine';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, until } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

const LIMIT_MS = 240_000;
const OPTIONS: Partial<LocalEngineOptions> = {};

let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  stack = await TestStack.start(OPTIONS);
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
}, LIMIT_MS);

afterAll(() => stack.stop(), LIMIT_MS);

interface Calm {
  readonly outcome: object;
  readonly tokensSampled: number;
}

let calm: Promise<Calm> | null = null;

/** What an undisturbed run leaves and costs. */
function calmRun(): Promise<Calm> {
  calm ??= trainCalmly();
  return calm;
}

async function trainCalmly(): Promise<Calm> {
  const before = await runs.tokensSampled();
  await runs.train('calm', runs.config());
  return { outcome: await runs.outcome('calm'), tokensSampled: (await runs.tokensSampled()) - before };
}

function groupsSampled(run: string): number {
  const folder = join(stack.store.runFolder(run), 'rollouts');
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true }).filter((name) => /\/\d+\.jsonl$/.test(String(name))).length;
}

test(
  'samples, trains and measures every step, and leaves no weights behind but its checkpoints',
  async () => {
    await calmRun();

    const metrics = await stack.store.readMetrics('calm');
    const scores = await stack.store.readScores('calm');
    const checkpoints = await stack.store.readCheckpoints('calm');
    const state = await stack.store.readState('calm');
    expect(state).toMatchObject({ status: 'completed', step: 6, kind: 'rl' });
    expect(state?.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const row of metrics) {
      expect(row['env/all/total_episodes']).toBe(16);
      expect(Math.abs(row['optim/kl_sample_train_v1'] ?? 1)).toBeLessThan(1e-5);
      expect(row['optim/updates']).toBe(row.step);
    }
    expect(groupsSampled('calm')).toBe(24);
    const accuracies = scores.filter(({ key }) => key === 'test/environments/accuracy');
    expect(accuracies.map(({ step }) => step).sort()).toEqual([0, 3, 6]);
    expect(checkpoints.map(({ name }) => name)).toEqual(['000000', '000003', 'final']);
    const model = await stack.modelOf('calm');
    const kept = (await stack.samplerPaths(model ?? '')).map((path) => path.slice(path.lastIndexOf('/') + 1));
    expect(kept.sort()).toEqual(['000003', 'final']);
  },
  LIMIT_MS,
);

test(
  'leaves the same weights, metrics and rollouts under another name, and others with another seed',
  async () => {
    const { outcome } = await calmRun();

    await runs.train('twin', runs.config());
    const other = await runs.train('other', runs.config({ seed: 1 }));

    expect(await runs.outcome('twin')).toEqual(outcome);
    expect(other.finalWeightsDigest).not.toBe((await stack.store.readState('calm'))?.finalWeightsDigest);
  },
  LIMIT_MS,
);

test(
  'trains journalled rollouts again without sampling them when the engine loses the model',
  async () => {
    const { outcome, tokensSampled } = await calmRun();

    const handle = await runs.start('restarted', runs.config());
    await until(async () => ((await stack.store.readLastMetrics('restarted'))?.step ?? 0) >= 2 || null);
    const before = await runs.tokensSampled();
    const sampledBefore = groupsSampled('restarted');
    await stack.restartEngine();
    await reportOf(handle);

    expect(await runs.outcome('restarted')).toEqual(outcome);
    expect((await stack.store.readState('restarted'))?.rewinds).toBeGreaterThan(0);
    // One group in flight may be drawn twice: at most four, each of sixteen tokens or fewer, and the test set's.
    const after = await runs.tokensSampled();
    expect(sampledBefore).toBeLessThan(24);
    expect(before).toBeGreaterThan(0);
    expect(after).toBeLessThan(tokensSampled);
  },
  LIMIT_MS,
);

test(
  'goes on bit by bit when its worker is killed while sampling and while training',
  async () => {
    const { outcome, tokensSampled } = await calmRun();
    await stack.stopWorkers();
    const before = await runs.tokensSampled();

    const handle = await runs.start('killed', runs.config());
    for (const groups of [1, 6, 13]) {
      const worker = WorkerProcess.start(stack);
      await until(() => (groupsSampled('killed') >= groups ? true : null));
      await worker.kill();
    }
    await stack.startWorkers();
    await reportOf(handle);

    expect(await runs.outcome('killed')).toEqual(outcome);
    // A kill costs what is in flight: a step's groups, and an evaluation's rollouts.
    const inFlight = 3 * (4 * 4 * 6 + 8 * 6);
    expect((await runs.tokensSampled()) - before).toBeLessThanOrEqual(tokensSampled + inFlight);
  },
  LIMIT_MS,
);
