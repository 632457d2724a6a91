/**
 * What reinforcement learning costs beyond its engine.
 *
 *     npm run bench:reinforcement [-- --steps 12 --only synchronous,ahead,large]
 *
 * `synchronous`: wall time of a step less the time in which the engine does anything, at steps of about a second.
 * `ahead`: how busy the engine's training lane is kept while the next step is sampled, where sampling is the faster half.
 * `large`: 512 and 2,048 rollouts of four turns with a tool in one batch: the worker's memory, and what three environments
 * that throw, hang and return garbage cost.
 *
 * The engine is the product's own protocol server over a runtime that takes exactly the time it is told; Temporal and
 * the worker are processes started as `everstep dev` starts them.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { TrainingConfigInput } from '../src/config/training-config';
import type { BenchClient } from './bench-client';
import { connectTo } from './bench-client';
import type { Pace } from './paced-runtime';
import { BenchServices } from './services';
import type { WorkItem } from './work-items';
import { busyTime, median } from './work-items';

const CASES = ['synchronous', 'ahead', 'large'] as const;

type ReinforcementInput = Extract<TrainingConfigInput, { kind: 'rl' }>;

interface Measured {
  readonly work: readonly WorkItem[];
  readonly metrics: readonly Readonly<Record<string, unknown>>[];
}

class Bench {
  private runCount = 0;

  constructor(
    private readonly services: BenchServices,
    private readonly client: BenchClient,
  ) {}

  async train(pace: Pace, more: Partial<ReinforcementInput>): Promise<Measured> {
    const run = `bench-${++this.runCount}`;
    await this.services.setPace(pace);
    const handle = await this.client.everstep.train(configOf(more), { run });
    const { status } = await handle.result();
    const metrics = await this.client.everstep.run(run).metrics();
    if (status !== 'completed' || metrics.length !== more.steps)
      throw new Error(`${run} ended ${status} with ${metrics.length} of ${String(more.steps)} steps.`);
    return { work: await this.services.takeWork(), metrics };
  }

  /** Sampling and training in turns: whatever time nobody worked in is ours. */
  async synchronous(steps: number, groupsPerBatch: number): Promise<void> {
    const pace = { forwardBackwardMs: 300, optimStepMs: 50, sampleMs: 430 };
    const { work } = await this.train(pace, { steps, groupsPerBatch });
    const ends = work.filter(({ kind }) => kind === 'optimStep').map(({ endMs }) => endMs);
    const [startMs = 0, endMs = 0] = [ends[0], ends.at(-1)];
    // From the first update to the last: whole steps, without what a run begins with.
    const within = work.filter((item) => item.startMs >= startMs && item.endMs <= endMs);
    const wallMs = (endMs - startMs) / (ends.length - 1);
    const engineMs = busyTime(within) / (ends.length - 1);
    const overheadMs = wallMs - engineMs;
    console.log(
      `synchronous, ${groupsPerBatch} groups of 8: a step takes ${wallMs.toFixed(0)} ms, the engine works in ${engineMs.toFixed(0)} of them: ` +
        `${overheadMs.toFixed(0)} ms more, ${((100 * overheadMs) / wallMs).toFixed(1)} % of the step ` +
        `(${gapsOf(within)})`,
    );
  }

  async ahead(steps: number, groupsPerBatch: number): Promise<void> {
    const pace = { forwardBackwardMs: 800, optimStepMs: 200, sampleMs: 330 };
    const { work, metrics } = await this.train(pace, { steps, groupsPerBatch, maxStepsOffPolicy: 2 });
    const training = work.filter(({ kind }) => kind !== 'sample');
    const [first, last] = [training[0], training.at(-1)];
    const wallMs = (last?.endMs ?? 0) - (first?.startMs ?? 0);
    const ages = metrics.map(
      (row) => Number(row['step']) - 1 - Number(row['sampling_client/step_min'] ?? Number(row['step']) - 1),
    );
    console.log(
      `ahead, ${groupsPerBatch} groups of 8: the training lane is busy for ${((100 * busyTime(training)) / wallMs).toFixed(1)} % of ` +
        `${(wallMs / 1000).toFixed(1)} s (${steps} steps of 1 s); rollouts are ${Math.max(...ages)} steps old at most`,
    );
  }

  async large(groupsPerBatch: number): Promise<void> {
    const pace = { forwardBackwardMs: 100, optimStepMs: 50, sampleMs: 100, drawnTokens: 256 };
    const { metrics } = await this.train(pace, {
      steps: 2,
      groupsPerBatch,
      maxTokens: 256,
      environment: {
        type: 'plugin',
        environment: 'workshop',
        options: { count: groupsPerBatch },
      },
      plugins: path.join(__dirname, 'reinforcement.config.ts'),
      limits: { environmentTimeoutSeconds: 5 },
      rolloutErrorTolerance: { type: 'min-viable', maxRetries: 0, minSuccessful: 1 },
    });
    const [row = {}] = metrics;
    const failures = Object.entries(row).filter(([key]) => key.startsWith('rollout_errors/environment'));
    console.log(
      `large, ${groupsPerBatch * 8} rollouts of four turns with a tool, 256 tokens each: ${String(row['env/all/total_episodes'])} count; ` +
        `${failures.map(([key, value]) => `${key} ${String(value)}`).join(', ')}; the worker had ${this.peakMegabytes()} MB at most`,
    );
  }

  /** The most that the worker's process ever had in memory. */
  private peakMegabytes(): string {
    const status = readFileSync(`/proc/${this.services.workers.at(-1)?.pid}/status`, 'utf8');
    return (Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024).toFixed(0);
  }
}

/** Where a step's time beyond the engine's goes: medians of the ways to sampling and back. */
function gapsOf(work: readonly WorkItem[]): string {
  const [before, after, spread]: [number[], number[], number[]] = [[], [], []];
  const ordered = [...work].sort((one, other) => one.startMs - other.startMs);
  const updates = ordered.filter(({ kind }) => kind === 'optimStep');
  updates.slice(1).forEach((update, index) => {
    const begunAt = updates[index]?.endMs ?? 0;
    const step = ordered.filter(({ startMs }) => startMs >= begunAt && startMs < update.startMs);
    const draws = step.filter(({ kind }) => kind === 'sample');
    const training = step.find(({ kind }) => kind === 'forwardBackward');
    const starts = draws.map(({ startMs }) => startMs);
    before.push(Math.min(...starts) - begunAt);
    spread.push(Math.max(...starts) - Math.min(...starts));
    after.push((training?.startMs ?? 0) - Math.max(...draws.map(({ endMs }) => endMs)));
  });
  const shown = (values: readonly number[]) => `${median(values).toFixed(0)} ms`;
  return (
    `${shown(before)} from the update to the first draw, ${shown(spread)} until all draws have begun, ` +
    `${shown(after)} from the last draw to training`
  );
}

function configOf(more: Partial<ReinforcementInput>): ReinforcementInput {
  return {
    kind: 'rl',
    model: 'everstep/tiny',
    environment: { type: 'arithmetic' },
    groupSize: 8,
    maxTokens: 12,
    loraRank: 4,
    saveEvery: 0,
    evalEvery: 0,
    numGroupsToLog: 0,
    ...more,
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '12' },
      only: { type: 'string', default: CASES.join(',') },
    },
  });
  const steps = Number(values.steps);
  const chosen = values.only.split(',');
  const services = await BenchServices.start();
  try {
    const client = await connectTo(services);
    const bench = new Bench(services, client);
    await bench.train({ forwardBackwardMs: 5, optimStepMs: 5 }, { steps: 3, groupsPerBatch: 4 });
    if (chosen.includes('synchronous')) {
      for (const groups of [8, 32, 64]) await bench.synchronous(steps, groups);
    }
    if (chosen.includes('ahead')) {
      for (const groups of [8, 32]) await bench.ahead(steps, groups);
    }
    if (chosen.includes('large')) {
      for (const groups of [64, 256]) await bench.large(groups);
    }
    await client.close();
  } finally {
    await services.stop();
  }
}

void main();
