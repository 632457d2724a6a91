/**
 * How many runs one worker serves: the share of their possible steps that they do, with what worker, Temporal and engine take.
 *
 *     npm run bench:fleet -- [--runs 60] [--seconds 60] [--step-ms 5000] [--workers 1] [--begin-seconds 180] [--json]
 *
 * The engine is the product's own protocol server over a runtime that keeps time instead of computing, so that the
 * orchestration alone is measured. Counting begins when every run has its first step, or after `--begin-seconds`. The last
 * line is of JSON with `--json`. CPU is in cores, memory the most there was of one worker.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectTo, tinyConfig } from './bench-client';
import type { FleetShare } from './fleet-share';
import { shareOf } from './fleet-share';
import { cpuMsOf, forgetPeak, peakMemoryMib } from './process-costs';
import { BenchServices } from './services';

interface Fleet {
  readonly runs: number;
  readonly seconds: number;
  readonly stepMs: number;
  readonly workers: number;
  readonly beginSeconds: number;
}

interface Costs {
  readonly workerCpu: number;
  readonly temporalCpu: number;
  readonly engineCpu: number;
  readonly workerMiB: number;
}

interface Measured extends Fleet, FleetShare, Costs {
  readonly beganAfterSeconds: number;
}

const FORWARD_SHARE = 0.8;
/** Small: what its rendering takes is no orchestration. */
const DATASET = { path: path.join(__dirname, '..', 'data', 'arithmetic', 'train.jsonl'), limit: 256 };
/** Runs that are started side by side, as scripts would. */
const STARTS_AT_ONCE = 8;
const LOOK_EVERY_MS = 1000;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '60' },
      seconds: { type: 'string', default: '60' },
      'step-ms': { type: 'string', default: '5000' },
      workers: { type: 'string', default: '1' },
      'begin-seconds': { type: 'string', default: '180' },
      json: { type: 'boolean', default: false },
    },
  });
  const measured = await measure({
    runs: Number(values.runs),
    seconds: Number(values.seconds),
    stepMs: Number(values['step-ms']),
    workers: Number(values.workers),
    beginSeconds: Number(values['begin-seconds']),
  });
  console.log(values.json ? JSON.stringify(measured) : textOf(measured));
}

async function measure(fleet: Fleet): Promise<Measured> {
  const roles = Array.from({ length: fleet.workers }, () => []);
  const services = await BenchServices.start('paced', roles);
  try {
    const { stepMs } = fleet;
    await services.setPace({
      forwardBackwardMs: stepMs * FORWARD_SHARE,
      optimStepMs: stepMs * (1 - FORWARD_SHARE),
    });
    const startedAt = Date.now();
    const names = await startRuns(services, fleet);
    while (Date.now() < startedAt + fleet.beginSeconds * 1000) {
      if (names.every((name) => momentsOf(services, name).length > 0)) break;
      await delay(LOOK_EVERY_MS);
    }
    const fromMs = Date.now();
    const costs = watchCosts(services);
    await delay(fleet.seconds * 1000);
    const window = { fromMs, toMs: Date.now() };
    const shares = shareOf(
      names.map((name) => momentsOf(services, name)),
      window,
      stepMs,
    );
    return { ...fleet, ...shares, ...costs(), beganAfterSeconds: Math.round((fromMs - startedAt) / 1000) };
  } finally {
    await services.stop();
  }
}

async function startRuns(services: BenchServices, { runs }: Fleet): Promise<readonly string[]> {
  const client = await connectTo(services);
  const names = Array.from({ length: runs }, (_, index) => `fleet-${index + 1}`);
  const waiting = [...names];
  const starter = async (): Promise<void> => {
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
      await client.everstep.train(tinyConfig({ steps: 100_000, dataset: DATASET }), { run });
    }
  };
  await Promise.all(Array.from({ length: STARTS_AT_ONCE }, starter));
  await client.close();
  return names;
}

/** When the steps of a run were done; none where it has no row yet. */
function momentsOf({ store }: BenchServices, run: string): number[] {
  try {
    const lines = readFileSync(path.join(store, 'runs', run, 'timing.jsonl'), 'utf8').split('\n');
    // The last one is empty, or still being written.
    return lines.slice(0, -1).map((line) => Date.parse((JSON.parse(line) as { at: string }).at));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function watchCosts(services: BenchServices): () => Costs {
  const workers = services.workers.map(({ pid = 0 }) => pid);
  const startedAt = Date.now();
  const cpuOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  const read = (): readonly number[] =>
    [workers, [services.temporalPid], [services.enginePid]].map((pids) => cpuOf(pids));
  workers.forEach(forgetPeak);
  const before = read();
  return () => {
    const [workerCpu = 0, temporalCpu = 0, engineCpu = 0] = read().map((ms, index) =>
      twoDigits((ms - (before[index] ?? 0)) / (Date.now() - startedAt)),
    );
    const workerMiB = Math.round(Math.max(...workers.map(peakMemoryMib)));
    return { workerCpu, temporalCpu, engineCpu, workerMiB };
  };
}

function twoDigits(value: number): number {
  return Math.round(value * 100) / 100;
}

function textOf(measured: Measured): string {
  const { runs, workers, stepMs, share, shareOfSlowest, withoutRow } = measured;
  return [
    `${runs} runs on ${workers} worker(s), steps of ${stepMs} ms: ${share.toFixed(3)} of the possible steps, the slowest run ${shareOfSlowest.toFixed(3)}, ${withoutRow} without a row`,
    `worker ${measured.workerCpu} cores and ${measured.workerMiB} MiB, Temporal ${measured.temporalCpu} cores, engine ${measured.engineCpu} cores`,
  ].join('\n');
}

void main();
