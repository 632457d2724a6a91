import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import { startLocalEngine } from '../../src/engines/local/engine';
import { RANDOM_MODEL, writeRandomModel } from '../unit/engines/local/compute/random-model';
import type { LoadReport } from './engine-load';
import { loadEngine } from './engine-load';

const SIZES = {
  baseModel: RANDOM_MODEL,
  samplerCount: 64,
  drawsPerSampler: 2,
  trainerCount: 4,
  stepsPerTrainer: 12,
  maxTokens: 16,
  batchSize: 8,
  promptLength: 8,
  floodCount: 150,
};

test('64 who sample, 4 who train and one who floods all get on, to the same numbers', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-load-'));
  const modelsFolder = writeRandomModel();
  const runtime = await createModelRuntime({
    threads: 2,
    modelsFolders: [modelsFolder],
    memoryMegabytes: 256,
  });
  const engine = await startLocalEngine({
    port: 0,
    dataFolder: folder,
    runtime,
    logger: pino({ enabled: false }),
  });
  const before = process.memoryUsage.rss();
  let report: LoadReport;
  try {
    report = await loadEngine(engine.url, SIZES);
  } finally {
    await engine.close();
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
    rmSync(modelsFolder, { recursive: true, force: true });
  }

  const [first] = report.losses;
  expect(first).toHaveLength(SIZES.stepsPerTrainer);
  // All were asked the same of equal models, so whatever goes on beside them shows in the numbers.
  expect(report.losses).toEqual(report.losses.map(() => first));
  expect(report.slowestShare).toBeGreaterThan(0.5);
  expect(report.drawsWhileTraining).toBeGreaterThan(0);
  expect(report.tokens).toBe(SIZES.samplerCount * SIZES.drawsPerSampler * SIZES.maxTokens);
  expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 2 ** 20);
});
