/**
 * How long the typed reads of a run take that has 10,000 steps: from the store, as they are for a closed run and while the
 * server is away, and of a run under way, whose workflow is asked as well.
 *
 *     npm run bench:queries -- [--steps 10000] [--repeats 40] [--runs 2000] [--live-steps 3000]
 *
 * Then eight clients ask the live run for its status 20 times each, all at once.
 *
 * The stored run is synthetic: rows of the shape and length that training writes. The live one is real; 0 leaves it out. `list` is
 * of a store with that many closed runs.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Everstep } from '../src/client/everstep';
import type { RunHandle } from '../src/client/run-handle';
import { connectTo, tinyConfig } from './bench-client';
import { BenchServices } from './services';

const LIMIT_MS = 50;
const CLIENTS = 8;
const QUESTIONS_OF_EACH = 20;

interface Sizes {
  readonly steps: number;
  readonly repeats: number;
  readonly runs: number;
  readonly liveSteps: number;
}

type Question = readonly [name: string, ask: (run: RunHandle) => Promise<unknown>];

function questionsOf(steps: number): readonly Question[] {
  const middle = Math.floor(steps / 2);
  return [
    ['status', (run) => run.status()],
    ['scores', (run) => run.scores()],
    ['metrics, all', (run) => run.metrics()],
    ['metrics, 100 steps', (run) => run.metrics({ from: middle, to: middle + 99 })],
    ['metrics, last 100', (run) => run.metrics({ last: 100 })],
    ['metrics, 500 points', (run) => run.metrics({ points: 500 })],
    ['metrics, every 10th', (run) => run.metrics({ every: 10 })],
    ['latest metrics', (run) => run.latestMetrics()],
    ['checkpoints', (run) => run.checkpoints()],
    ['evaluations', (run) => run.evaluations()],
    ['controls', (run) => run.controls()],
    ['timeline', (run) => run.timeline()],
  ];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '10000' },
      repeats: { type: 'string', default: '40' },
      runs: { type: 'string', default: '2000' },
      'live-steps': { type: 'string', default: '3000' },
    },
  });
  const sizes = {
    steps: Number(values.steps),
    repeats: Number(values.repeats),
    runs: Number(values.runs),
    liveSteps: Number(values['live-steps']),
  };
  const isFast = [await measureStored(sizes), sizes.liveSteps === 0 || (await measureLive(sizes))];
  console.log(isFast.every(Boolean) ? `all medians below ${LIMIT_MS} ms` : `SLOWER than ${LIMIT_MS} ms`);
}

async function measureStored(sizes: Sizes): Promise<boolean> {
  const store = mkdtempSync(path.join(tmpdir(), 'everstep-queries-'));
  try {
    writeRun(store, 'long', sizes.steps);
    const everstep = await Everstep.connect({ store, temporal: null });
    console.log(`closed run of ${sizes.steps} steps, from the store`);
    const isFast = await ask(everstep.run('long'), questionsOf(sizes.steps), sizes.repeats);
    for (let index = 1; index < sizes.runs; index++) writeRun(store, `short-${index}`, 0);
    console.log(`store of ${sizes.runs} closed runs`);
    const lists = [
      ['list, 100', () => everstep.runs.list({ limit: 100 })],
      ['list, 100 by score', () => everstep.runs.list({ limit: 100, sort: 'score' })],
    ] as const;
    for (const [name, list] of lists) print(name, await timesOf(list, Math.min(5, sizes.repeats)));
    await everstep.close();
    return isFast;
  } finally {
    rmSync(store, { recursive: true, force: true });
  }
}

async function measureLive({ liveSteps, repeats }: Sizes): Promise<boolean> {
  const services = await BenchServices.start('real');
  try {
    const client = await connectTo(services);
    const run = await client.everstep.train(
      tinyConfig({
        steps: 100_000,
        saveEvery: 500,
        evalEvery: 250,
        evaluators: [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 20 }],
      }),
      { run: 'live' },
    );
    while ((await run.status()).step < liveSteps) await delay(500);
    const { step } = await run.status();
    console.log(`run under way at step ${step}, its workflow asked and the store`);
    const isFast = await ask(run, questionsOf(step), repeats);
    console.log(`${CLIENTS} clients at once, ${QUESTIONS_OF_EACH} questions each`);
    print('status', await timesOfClients(services));
    await run.cancel();
    await run.result();
    await client.close();
    return isFast;
  } finally {
    await services.stop();
  }
}

/** Each has a connection of its own, as programs apart have. */
async function timesOfClients(services: BenchServices): Promise<number[]> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connectTo(services)));
  const times = await Promise.all(
    clients.map(({ everstep }) => timesOf(() => everstep.run('live').status(), QUESTIONS_OF_EACH)),
  );
  await Promise.all(clients.map((client) => client.close()));
  return times.flat().sort((left, right) => left - right);
}

async function ask(run: RunHandle, questions: readonly Question[], repeats: number): Promise<boolean> {
  let isFast = true;
  for (const [name, question] of questions) {
    const times = await timesOf(() => question(run), repeats);
    print(name, times);
    isFast &&= shareOf(times, 0.5) < LIMIT_MS;
  }
  return isFast;
}

async function timesOf(question: () => Promise<unknown>, repeats: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < repeats + 2; index++) {
    const startedAt = performance.now();
    await question();
    if (index >= 2) times.push(performance.now() - startedAt);
  }
  return times.sort((left, right) => left - right);
}

function print(name: string, times: readonly number[]): void {
  const numbers = [
    `median ${shareOf(times, 0.5).toFixed(1).padStart(7)} ms`,
    `p95 ${shareOf(times, 0.95).toFixed(1).padStart(7)} ms`,
    `most ${(times.at(-1) ?? NaN).toFixed(1).padStart(7)} ms`,
  ];
  console.log(`  ${name.padEnd(22)} ${numbers.join('   ')}`);
}

function shareOf(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

const AT = Date.parse('2026-01-01T00:00:00.000Z');
const timeAt = (step: number) => new Date(AT + step * 1000).toISOString();

function writeRun(store: string, run: string, steps: number): void {
  const folder = path.join(store, 'runs', run);
  mkdirSync(folder, { recursive: true });
  const state = {
    ...{ run, kind: 'sft', model: 'everstep/tiny', status: 'completed', step: steps, totalSteps: steps },
    ...{ startedAt: timeAt(0), closedAt: timeAt(steps), workflowId: `train/${run}`, engine: 'local' },
    ...{ lineage: 0, rewinds: 0, stepsReplayed: 0, finalWeightsDigest: 'abc' },
  };
  writeFileSync(path.join(folder, 'state.json'), JSON.stringify(state, null, 2));
  writeFileSync(path.join(folder, 'config.json'), '{"config":{}}');
  writeRows(folder, 'scores', Math.floor(steps / 50) + 1, (index) => scoreRow(index * 50));
  if (steps === 0) return;
  writeRows(folder, 'metrics', steps, (index) => metricsRow(index + 1, steps));
  writeRows(folder, 'timing', steps, (index) => ({
    ...{ step: index + 1, at: timeAt(index + 1), 'time/total': 0.51234 + index / steps },
    ...{ 'time/forward_backward': 0.312345, 'time/optim': 0.0123, 'time/queue': 0.00123 },
  }));
  writeRows(folder, 'checkpoints', Math.floor(steps / 20), (index) => checkpointRow((index + 1) * 20, steps));
  writeRows(folder, 'controls', 50, (index) => ({
    ...{ at: timeAt(index * 100), by: 'someone@host', reason: 'to see what happens', step: index * 100 },
    ...{ control: 'setLearningRate', from: 1e-3, to: 5e-4 },
  }));
  writeRows(folder, 'events', 500, (index) => ({
    ...{
      at: timeAt(index * 10),
      kind: 'waited',
      step: index * 10,
      text: `for the training service ${index}`,
    },
  }));
}

function writeRows(folder: string, name: string, count: number, rowOf: (index: number) => object): void {
  const lines = Array.from({ length: count }, (_, index) => `${JSON.stringify(rowOf(index))}\n`);
  writeFileSync(path.join(folder, `${name}.jsonl`), lines.join(''));
}

function metricsRow(step: number, steps: number): object {
  return {
    step,
    'train/nll': 2.123456789 / Math.sqrt(step),
    'train/bpb': 1.923456789 / Math.sqrt(step),
    'train/loss': 512.12345678 / step,
    'train/tokens': 4096 + (step % 7),
    'train/loss_tokens': 2048.5,
    'train/sequences': 128,
    'optim/lr': 0.0001 * (1 - step / steps),
    'optim/updates': step,
    'optim/grad_norm': 1.2345678901 / step,
    'progress/epoch': Math.floor(step / 100),
    'progress/done_frac': step / steps,
  };
}

function scoreRow(step: number): object {
  return {
    ...{
      step,
      schedule: 'evaluators',
      evaluator: 'arithmetic',
      metric: 'accuracy',
      key: 'test/arithmetic/accuracy',
    },
    ...{ value: 0.5, stderr: 0.02, n: 500, higherIsBetter: true, at: timeAt(step) },
  };
}

function checkpointRow(step: number, steps: number): object {
  const name = String(step).padStart(6, '0');
  return {
    ...{ name, step, batch: step, epoch: 0, final: step === steps, elapsed_tokens: step * 4096 },
    ...{
      state_path: `tinker://model/weights/${name}`,
      sampler_path: `tinker://model/sampler_weights/${name}`,
    },
    ...{ lineage: 0, incarnation: 1 },
  };
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
