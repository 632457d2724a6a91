/**
 * The local engine against eager PyTorch on the CPU: the same architecture, weights, batches, optimizer and threads.
 *
 *     npm run bench:engine -- [--threads 2] [--repeats 9] [--only "d=128"] [--round-ms 250] [--fused]
 *         [--cache in-place|growing]
 *
 * First both sides must agree on the loss, before and after a few steps: the work is the same then. After that they take
 * turns, round by round; a ratio is the median over the rounds of ours to theirs. On a machine with other work, the ratio of
 * the best rounds says more: there PyTorch's threads wait for one another. Without Python it says so and ends.
 */
import { parseArgs } from 'node:util';
import { createRandom } from '../../src/core/random';
import type { BenchShape } from './bench-model';
import { BenchModel, MEDIUM, SMALL } from './bench-model';
import type { Contender, Timing, TrainingBatch } from './contenders';
import { OwnEngine } from './own-engine';
import { findPython, TorchContender } from './torch-contender';

const NEW_TOKENS = 48;
const PROMPT_LENGTH = 8;
const AGREEMENT_STEPS = 5;
/** Float32 sums in another order differ by about 1e-6 in a loss; a wrong gradient shows in the third digit. */
const AGREEMENT = 1e-4;

interface Case {
  readonly name: string;
  readonly tokens: number;
  readonly goal: number;
  run(side: Contender, times: number): Promise<Timing>;
}

interface Sides {
  readonly ours: Contender;
  readonly theirs: Contender;
}

interface Settings {
  readonly repeats: number;
  readonly roundMs: number;
  readonly only: string;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      threads: { type: 'string', default: '2' },
      repeats: { type: 'string', default: '9' },
      'round-ms': { type: 'string', default: '250' },
      only: { type: 'string', default: '' },
      fused: { type: 'boolean', default: false },
      cache: { type: 'string', default: 'in-place' },
    },
  });
  const python = findPython(say);
  if (python === null) {
    say('Nothing was compared: this benchmark needs python3 and a package index with torch.');
    return;
  }
  const threads = Number(values.threads);
  const theirs = new TorchContender(python, { threads, isFused: values.fused, cache: values.cache });
  const ours = new OwnEngine(threads);
  const settings = {
    repeats: Number(values.repeats),
    roundMs: Number(values['round-ms']),
    only: values.only,
  };
  try {
    await theirs.start();
    say(`PyTorch ${theirs.version}, ${threads} threads on each side`);
    for (const shape of [SMALL, MEDIUM]) await compareShape({ ours, theirs }, shape, settings);
  } finally {
    await Promise.all([ours.close(), theirs.close()]);
  }
}

async function compareShape(sides: Sides, shape: BenchShape, settings: Settings): Promise<void> {
  const cases = casesOf(shape).filter(({ name }) => name.includes(settings.only));
  if (cases.length === 0) return;
  const model = new BenchModel(shape);
  try {
    for (const side of [sides.ours, sides.theirs]) await side.load(model);
    await checkAgreement(sides, shape);
    for (const one of cases) await compare(sides, one, settings);
  } finally {
    model.remove();
  }
}

function casesOf(shape: BenchShape): Case[] {
  const isSmall = shape.layers === 2;
  const training = [
    [128, 16],
    [32, 64],
  ] as const;
  const sampling = [
    { batch: 64, goal: isSmall ? 2.5 : 1.1 },
    { batch: 1, goal: isSmall ? 15 : 4 },
  ];
  return [
    ...training.map(([count, length]) => ({
      name: `${shape.name}, train ${count}x${length}`,
      tokens: count * length,
      goal: isSmall ? 0.9 : 0.75,
      run: async (side: Contender, steps: number) => {
        await side.setBatch(makeBatch(shape, count, length));
        return side.train(steps);
      },
    })),
    ...sampling.map(({ batch, goal }) => ({
      name: `${shape.name}, sample ${batch}`,
      tokens: batch * NEW_TOKENS,
      goal,
      run: async (side: Contender, times: number) => sampleTimes(side, makePrompts(shape, batch), times),
    })),
  ];
}

async function sampleTimes(side: Contender, prompts: number[][], times: number): Promise<Timing> {
  const total = { wallMs: 0, cpuMs: 0 };
  for (let time = 0; time < times; time++) {
    const { wallMs, cpuMs } = await side.sample(prompts, NEW_TOKENS);
    total.wallMs += wallMs;
    total.cpuMs += cpuMs;
  }
  return total;
}

function makeBatch({ vocabSize }: BenchShape, count: number, length: number): TrainingBatch {
  const random = createRandom(count * length);
  const sequences = Array.from({ length: count }, () =>
    Array.from({ length: length + 1 }, () => Math.floor(random() * vocabSize)),
  );
  return {
    tokens: sequences.map((sequence) => sequence.slice(0, -1)),
    targets: sequences.map((sequence) => sequence.slice(1)),
    weight: 1 / (count * length),
  };
}

function makePrompts({ vocabSize }: BenchShape, count: number): number[][] {
  const random = createRandom(count);
  return Array.from({ length: count }, () =>
    Array.from({ length: PROMPT_LENGTH }, () => Math.floor(random() * vocabSize)),
  );
}

async function checkAgreement({ ours, theirs }: Sides, shape: BenchShape): Promise<void> {
  const batch = makeBatch(shape, 12, 40);
  for (const side of [ours, theirs]) await side.setBatch(batch);
  const before = [await ours.loss(), await theirs.loss()] as const;
  for (const side of [ours, theirs]) await side.train(AGREEMENT_STEPS);
  const after = [await ours.loss(), await theirs.loss()] as const;
  const differences = [before, after].map(([own, other]) => Math.abs(own - other) / other);
  say(`\n${shape.name}: loss ${before.join(' and ')}; after ${AGREEMENT_STEPS} steps ${after.join(' and ')}`);
  if (differences.some((difference) => !(difference < AGREEMENT))) {
    throw new Error('The two sides do not compute the same: the comparison would be of unequal work.');
  }
}

/** Rounds as long as asked for on each side, taking turns; who goes first changes from round to round. */
async function compare({ ours, theirs }: Sides, one: Case, settings: Settings): Promise<void> {
  const times = {
    ours: await timesFor(ours, one, settings.roundMs),
    theirs: await timesFor(theirs, one, settings.roundMs),
  };
  const speeds: { ours: number; theirs: number; ratio: number; cpuRatio: number }[] = [];
  for (let round = 0; round < settings.repeats; round++) {
    const order = round % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const);
    const spent = { ours: { wallMs: 0, cpuMs: 0 }, theirs: { wallMs: 0, cpuMs: 0 } };
    for (const side of order) spent[side] = await one.run(side === 'ours' ? ours : theirs, times[side]);
    const own = (one.tokens * times.ours * 1000) / spent.ours.wallMs;
    const other = (one.tokens * times.theirs * 1000) / spent.theirs.wallMs;
    const cpuRatio = ((spent.theirs.cpuMs / spent.ours.cpuMs) * times.ours) / times.theirs;
    speeds.push({ ours: own, theirs: other, ratio: own / other, cpuRatio });
  }
  const [own, other] = [
    median(speeds.map((speed) => speed.ours)),
    median(speeds.map((speed) => speed.theirs)),
  ];
  const ratios = speeds.map(({ ratio }) => ratio);
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  const fastest = (side: 'ours' | 'theirs'): number => Math.max(...speeds.map((speed) => speed[side]));
  const best = (fastest('ours') / fastest('theirs')).toFixed(2);
  const cpu = median(speeds.map(({ cpuRatio }) => cpuRatio)).toFixed(2);
  say(
    `${one.name.padEnd(34)} ours ${own.toFixed(0).padStart(7)}  PyTorch ${other.toFixed(0).padStart(7)} tokens/s` +
      `  ratio ${median(ratios).toFixed(2)} (${range}), goal ${one.goal}, by CPU time ${cpu}, of best rounds ${best}`,
  );
}

async function timesFor(side: Contender, one: Case, roundMs: number): Promise<number> {
  await one.run(side, 2);
  const { wallMs } = await one.run(side, 2);
  return Math.max(1, Math.round((roundMs * 2) / wallMs));
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

void main();
