/**
 * Many clients on one engine: samplers, trainers, and one who floods and never collects.
 *
 *     npx jiti bench/engine-load.ts [--samplers 64] [--trainers 4] [--steps 100] [--draws 10] [--flood 2000]
 *
 * Prints how long each kind of client took, how evenly the trainers got on, and what the process came to weigh.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { createModelRuntime } from '../src/engines/local/compute/create-model-runtime';
import { startLocalEngine } from '../src/engines/local/engine';
import type { LoadReport } from '../test/contract/engine-load';
import { loadEngine } from '../test/contract/engine-load';
import { median } from './work-items';

const MEBIBYTE = 2 ** 20;

function print(report: LoadReport, mebibytes: { readonly before: number; readonly peak: number }): void {
  const range = (values: readonly number[]): string =>
    values.length === 0
      ? 'none'
      : `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)} s, median ${median(values).toFixed(1)} s`;
  console.log(`all finished          ${report.seconds.toFixed(1)} s, ${Math.round(report.tokens / report.seconds)} collected tokens/s
samplers finished     ${range(report.samplerSeconds)}
trainers finished     ${range(report.trainerSeconds)}
slowest of trainers   ${(100 * report.slowestShare).toFixed(0)} % of its steps when the fastest had all
draws while training  ${report.drawsWhileTraining}
flood refused         ${report.refusedFloods}
memory (RSS)          ${Math.round(mebibytes.before)} MiB before, ${Math.round(mebibytes.peak)} MiB at most`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      samplers: { type: 'string', default: '64' },
      trainers: { type: 'string', default: '4' },
      steps: { type: 'string', default: '100' },
      draws: { type: 'string', default: '10' },
      flood: { type: 'string', default: '2000' },
    },
  });
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-load-'));
  const runtime = await createModelRuntime();
  const engine = await startLocalEngine({
    port: 0,
    dataFolder: folder,
    runtime,
    logger: pino({ level: 'error' }),
  });
  const before = process.memoryUsage.rss() / MEBIBYTE;
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss() / MEBIBYTE)), 200);
  try {
    const report = await loadEngine(engine.url, {
      baseModel: 'everstep/tiny',
      samplerCount: Number(values.samplers),
      drawsPerSampler: Number(values.draws),
      trainerCount: Number(values.trainers),
      stepsPerTrainer: Number(values.steps),
      maxTokens: 32,
      batchSize: 8,
      promptLength: 16,
      floodCount: Number(values.flood),
    });
    print(report, { before, peak });
  } finally {
    clearInterval(timer);
    await engine.close();
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
