/**
 * What evaluating costs beside the waiting for answers.
 *
 *     npm run bench:eval -- [--concurrency 64,512] [--repeats 3] [--sizes 1000,10000,100000] [--delay-ms 100] [--inspect]
 *         [--program FOLDER]
 *
 * `everstep dev` runs on a folder and ports of its own; GSM8K (`EVERSTEP_DATA_DIR`, else questions of its length) is asked
 * at an endpoint that answers after so long, by a command as a person gives it, by a bare client, and by Inspect AI where
 * `--inspect` asks for it, in turns. Rates are of the request phase: from the first request that reaches the endpoint to
 * its last answer. From 256 on each question is asked ten times, or a run would be over too soon, and Inspect AI is left
 * out, for which it would never be. `--sizes 0` leaves the growth of memory out, `--repeats 0` the rates. CPU and memory are read from Linux; what is live, once garbage is
 * collected, from the process itself.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { copyBuilds } from '../test/chaos/builds';
import type { BenchEndpointStats } from './endpoint';
import { InspectPeer } from './eval-throughput-inspect';
import type { Questions } from './eval-throughput-questions';
import { GSM8K_COUNT, readGsm8k, writeAnswers, writeQuestions } from './eval-throughput-questions';
import type { EvalCosts, EvalOrder } from './eval-throughput-stack';
import { EvalStack } from './eval-throughput-stack';
import { firstLine, JITI, stopChild } from './services';
import { median } from './work-items';

const MANY_IN_FLIGHT = 256;
const SIZES_CONCURRENCY = 512;
const WARM_UP_COUNT = 500;

interface Phase {
  /** Requests a second. */
  readonly rate: number;
  readonly firstRequestAt: number;
  readonly requestCount: number;
}

interface Round {
  readonly load: number;
  readonly bare: Phase;
  readonly ours: Phase;
  readonly costs: EvalCosts;
  readonly inspect: { readonly phase: Phase; readonly seconds: number; readonly cpuMs: number } | null;
}

class Bench {
  private count = 0;

  constructor(
    private readonly stack: EvalStack,
    private readonly url: string,
    private readonly inspect: InspectPeer | null,
  ) {}

  async round(questions: Questions, concurrency: number): Promise<Round> {
    const load = os.loadavg()[0] ?? 0;
    const bare = await this.phase(questions, () => this.askBarely(questions, concurrency));
    const ours = await this.ours(questions, concurrency);
    const order = this.order(questions, concurrency);
    const peer = concurrency < MANY_IN_FLIGHT ? this.inspect : null;
    const inspect = peer && (await this.phase(questions, () => peer.evaluate(order)));
    return {
      load,
      bare: bare.phase,
      ...ours,
      inspect: inspect ? { phase: inspect.phase, ...inspect.result } : null,
    };
  }

  async ours(questions: Questions, concurrency: number): Promise<Pick<Round, 'ours' | 'costs'>> {
    const order = this.order(questions, concurrency);
    const { phase, result: costs } = await this.phase(questions, () => this.stack.evaluate(order));
    if (costs.journalled !== questions.count)
      throw new Error(`${costs.journalled} of ${questions.count} examples are journalled.`);
    return { ours: phase, costs };
  }

  private order(questions: Questions, concurrency: number): EvalOrder {
    this.count += 1;
    return { run: `bench-${this.count}`, url: this.url, questions, concurrency };
  }

  private async phase<Result>(
    { count }: Questions,
    work: () => Promise<Result> | Result,
  ): Promise<{ readonly phase: Phase; readonly result: Result }> {
    await this.ask('/stats/reset');
    const result = await work();
    const { firstRequestAt, lastAnswerAt, answeredCount, requestCount } = await this.ask('/stats');
    if (answeredCount < count) throw new Error(`${answeredCount} of ${count} questions were answered.`);
    const rate = answeredCount / ((lastAnswerAt - firstRequestAt) / 1000);
    return { phase: { rate, firstRequestAt, requestCount }, result };
  }

  private async ask(place: string): Promise<BenchEndpointStats> {
    const response = await fetch(new URL(place, this.url), { method: 'POST' });
    // Our own endpoint.
    return (await response.json()) as BenchEndpointStats;
  }

  private async askBarely({ file }: Questions, concurrency: number): Promise<void> {
    const args = [path.join(__dirname, 'eval-throughput-bare.ts'), this.url, file, String(concurrency)];
    const [code] = (await once(fork(JITI, args), 'exit')) as [number];
    if (code !== 0) throw new Error(`The bare client ended with ${code}.`);
  }
}

function describeRounds(rounds: readonly Round[], concurrency: number, delayMs: number): string[] {
  const of = (pick: (round: Round) => number, digits = 2): string => {
    const values = rounds.map(pick);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return `${median(values).toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`;
  };

  const count = rounds[0]?.ours.requestCount ?? 0;
  const ideal = idealRate(count, concurrency, delayMs);
  const lines = [
    `${count} examples, ${concurrency} in flight, ${rounds.length} rounds, load ${of(({ load }) => load, 1)}`,
    `  examples/s            ${of(({ ours }) => ours.rate, 0)}; the bare client ${of(({ bare }) => bare.rate, 0)}`,
    `  of the bare client    ${of(({ ours, bare }) => ours.rate / bare.rate)}`,
    `  of the ideal ${ideal.toFixed(0).padEnd(8)} ${of(({ ours }) => ours.rate / ideal)}`,
    `  command, s            ${of(({ costs }) => costs.seconds)}`,
    `  to first request, s   ${of(({ ours, costs }) => (ours.firstRequestAt - costs.startedAt) / 1000)}`,
    `  CPU ms an example     ${of(({ costs }) => (costs.stackCpuMs + costs.commandCpuMs) / count, 3)}, of it the command ${of(({ costs }) => costs.commandCpuMs / count, 3)}`,
    `  history, bytes        ${of(({ costs }) => costs.historyBytes, 0)}, a hundred examples ${of(({ costs }) => (costs.historyBytes / count) * 100, 0)}`,
  ];
  const peers = rounds.flatMap(({ inspect, ours }) => (inspect ? [{ inspect, ours }] : []));
  if (peers.length === 0) return lines;
  const rate = median(peers.map(({ inspect }) => inspect.phase.rate)).toFixed(0);
  const times = median(peers.map(({ inspect, ours }) => ours.rate / inspect.phase.rate)).toFixed(1);
  const seconds = median(peers.map(({ inspect }) => inspect.seconds)).toFixed(1);
  const cpu = median(peers.map(({ inspect }) => inspect.cpuMs / count)).toFixed(1);
  return [
    ...lines,
    `  Inspect AI            ${rate}/s (ours ${times} times), command ${seconds} s, ${cpu} ms CPU an example`,
  ];
}

/** Answers come in waves of `concurrency`; the last one may be smaller and takes as long. */
function idealRate(count: number, concurrency: number, delayMs: number): number {
  return count / ((Math.ceil(count / concurrency) * delayMs) / 1000);
}

/** Each size has a stack of its own: what a process has had before shows in what it takes now. */
async function measureSizes(
  { launcher, folder, url }: { readonly launcher: string; readonly folder: string; readonly url: string },
  sizes: readonly number[],
): Promise<void> {
  const { rows } = readGsm8k();
  for (const size of sizes) {
    const data = path.join(folder, `state-${size}`);
    mkdirSync(data);
    const stack = await EvalStack.start(launcher, data);
    try {
      const bench = new Bench(stack, url, null);
      await bench.ours(writeQuestions(folder, rows, WARM_UP_COUNT), 64);
      const { ours, costs } = await bench.ours(writeQuestions(folder, rows, size), SIZES_CONCURRENCY);
      const { heap, buffers } = await stack.liveMemory();
      const cpuMs = (costs.stackCpuMs + costs.commandCpuMs) / size;
      console.log(
        `${size} examples: ${ours.rate.toFixed(0)}/s, first request after ${((ours.firstRequestAt - costs.startedAt) / 1000).toFixed(2)} s, ` +
          `command ${costs.seconds.toFixed(1)} s, ${cpuMs.toFixed(3)} ms CPU an example, ` +
          `history ${((costs.historyBytes / size) * 100).toFixed(0)} bytes a hundred examples, load ${(os.loadavg()[0] ?? 0).toFixed(1)}; ` +
          `the worker that evaluates has ${heap.toFixed(1)} MiB of heap and ${buffers.toFixed(1)} MiB of buffers live`,
      );
      for (const { name, before, most, after } of costs.memory) {
        const [first, last] = [before, after].map((mib) => (Number.isNaN(mib) ? '-' : mib.toFixed(0)));
        console.log(`  ${name.padEnd(20)} ${first} MiB before, ${most.toFixed(0)} at most, ${last} after`);
      }
    } finally {
      await stack.stop();
    }
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      concurrency: { type: 'string', default: '64,512' },
      repeats: { type: 'string', default: '3' },
      sizes: { type: 'string', default: '1000,10000,100000' },
      'delay-ms': { type: 'string', default: '100' },
      program: { type: 'string', default: path.join(__dirname, '..') },
      inspect: { type: 'boolean', default: false },
    },
  });
  const folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-bench-eval-'));
  const { rows, isReal } = readGsm8k();
  if (!isReal) console.log('No EVERSTEP_DATA_DIR with gsm8k: questions are made up, of the same length.');
  const data = path.join(folder, 'state');
  mkdirSync(data);
  const builds = copyBuilds(path.resolve(values.program), path.join(folder, 'builds'));
  const sizes = values.sizes
    .split(',')
    .map(Number)
    .filter((size) => size > 0);
  const answersFile = writeAnswers(folder, rows, Math.max(GSM8K_COUNT * 10, ...sizes));
  const answers = ['--delay-ms', values['delay-ms'], '--answers', answersFile];
  const endpoint = fork(JITI, [path.join(__dirname, 'endpoint.ts'), ...answers], { silent: true });
  let stack: EvalStack | null = null;
  try {
    const url = (await firstLine(endpoint, 'http')).trim();
    stack = await EvalStack.start(builds.current, data);
    const say = (line: string): void => {
      console.log(line);
    };
    const inspect = values.inspect ? await InspectPeer.open(folder, say) : null;
    if (inspect) console.log(`Inspect AI ${await inspect.version()}`);
    const bench = new Bench(stack, url, inspect);
    // Code is compiled and connections are made once.
    await bench.ours(writeQuestions(folder, rows, WARM_UP_COUNT), 64);
    const repeats = Number(values.repeats);
    for (const concurrency of repeats === 0 ? [] : values.concurrency.split(',').map(Number)) {
      const count = concurrency >= MANY_IN_FLIGHT ? GSM8K_COUNT * 10 : GSM8K_COUNT;
      const questions = writeQuestions(folder, rows, count);
      const rounds: Round[] = [];
      for (let index = 1; index <= repeats; index++) {
        rounds.push(await bench.round(questions, concurrency));
        process.stderr.write(`${concurrency} in flight: round ${index} of ${repeats}\n`);
      }
      for (const line of describeRounds(rounds, concurrency, Number(values['delay-ms']))) console.log(line);
    }
    await stack.stop();
    stack = null;
    await measureSizes({ launcher: builds.current, folder, url }, sizes);
  } finally {
    await stack?.stop();
    await stopChild(endpoint);
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
