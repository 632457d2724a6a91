/**
 * What orchestration costs: wall time of a run over the busy time of its engine, and the history it leaves.
 *
 *     npm run bench:orchestration -- [--repeats 3] [--seconds 20] [--steps-ms 50,200,1000] [--submit-ahead 1,0]
 *
 * The engine is the product's own protocol server over a runtime that takes exactly the time it is told; Temporal and
 * the worker are processes started as `everstep dev` starts them. Every row of metrics.jsonl is checked to be there.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { Everstep } from '../src/client/everstep';
import type { TrainingConfigInput } from '../src/config/training-config';
import type { RunHistory } from './run-history';
import { readRunHistory } from './run-history';
import { BenchServices } from './services';
import type { WorkSummary } from './work-items';
import { median, quantile, summarizeWork } from './work-items';

interface Case {
  readonly stepMs: number;
  readonly submitAhead: number;
  readonly stepCount: number;
}

interface Measured extends WorkSummary, RunHistory {}

const NAMESPACE = 'everstep';
const FORWARD_SHARE = 0.8;
/** Steps so slow that a segment has one or two of them: where the history is longest for a step. */
const SLOW_STEP = { stepMs: 2500, submitAhead: 1, stepCount: 12 };

class Bench {
  private runCount = 0;

  constructor(
    private readonly services: BenchServices,
    private readonly everstep: Everstep,
    private readonly client: Client,
  ) {}

  async measure({ stepMs, submitAhead, stepCount }: Case): Promise<Measured> {
    const run = `bench-${++this.runCount}`;
    await this.services.setPace({
      forwardBackwardMs: stepMs * FORWARD_SHARE,
      optimStepMs: stepMs * (1 - FORWARD_SHARE),
    });
    const handle = await this.everstep.train(configOf(stepCount, submitAhead), { run });
    const result = await handle.result();
    const work = summarizeWork(await this.services.takeWork());
    await this.requireComplete(run, stepCount);
    if (result.status !== 'completed' || work.stepCount !== stepCount) {
      throw new Error(`${run} ended ${result.status} after ${work.stepCount} steps of the engine.`);
    }
    return { ...work, ...(await readRunHistory(this.client.workflow.getHandle(handle.workflowId))) };
  }

  private async requireComplete(run: string, stepCount: number): Promise<void> {
    const rows = await this.everstep.run(run).metrics();
    const isComplete = rows.length === stepCount && rows.every(({ step }, index) => step === index + 1);
    if (!isComplete) throw new Error(`metrics.jsonl of ${run} has ${rows.length} of ${stepCount} rows.`);
  }
}

function configOf(steps: number, submitAhead: number): TrainingConfigInput {
  return {
    kind: 'sft',
    model: 'everstep/tiny',
    dataset: { path: path.join(__dirname, '..', 'data', 'arithmetic', 'train.jsonl') },
    batchSize: 8,
    loraRank: 4,
    saveEvery: 0,
    steps,
    submitAhead,
  };
}

function print({ stepMs, submitAhead, stepCount }: Case, measured: readonly Measured[]): void {
  const middle = (of: (one: Measured) => number): number => median(measured.map(of));
  const gaps = measured.flatMap(({ longGaps }) => longGaps);
  const handovers = measured.flatMap(({ handoversMs }) => handoversMs);
  const gapText =
    gaps.length === 0
      ? 'none'
      : `${(gaps.length / measured.length).toFixed(1)} a run, p50 ${quantile(gaps, 0.5).toFixed(1)}, p99 ${quantile(gaps, 0.99).toFixed(1)}, max ${Math.max(...gaps).toFixed(1)} ms`;
  console.log(
    [
      `step ${stepMs} ms, submitAhead ${submitAhead}, ${stepCount} steps`,
      `ratio ${middle(({ ratio }) => ratio).toFixed(4)} (${measured.map(({ ratio }) => ratio.toFixed(4)).join(', ')})`,
      `gaps over 5 ms: ${gapText}; shorter ones ${(middle(({ shortGapsMs }) => shortGapsMs) / stepCount).toFixed(2)} ms a step`,
      `history: ${(middle(({ events }) => events) / stepCount).toFixed(2)} events and ${(middle(({ bytes }) => bytes) / stepCount).toFixed(0)} bytes a step in ${middle(({ segments }) => segments)} segments`,
      `from a segment's end to the next one's start at the worker: p50 ${quantile(handovers, 0.5).toFixed(0)}, max ${Math.max(...handovers).toFixed(0)} ms`,
    ].join('\n  '),
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '20' },
      'steps-ms': { type: 'string', default: '50,200,1000' },
      'submit-ahead': { type: 'string', default: '1,0' },
      'skip-slow': { type: 'boolean', default: false },
    },
  });
  const numbers = (text: string): number[] => text.split(',').map(Number);
  const cases: Case[] = numbers(values['steps-ms']).flatMap((stepMs) =>
    numbers(values['submit-ahead']).map((submitAhead) => ({
      stepMs,
      submitAhead,
      stepCount: Math.max(4, Math.round((Number(values.seconds) * 1000) / stepMs)),
    })),
  );
  if (!values['skip-slow']) cases.push(SLOW_STEP);
  await runCases(cases, Number(values.repeats));
}

async function runCases(cases: readonly Case[], repeats: number): Promise<void> {
  const services = await BenchServices.start();
  try {
    const connection = await Connection.connect({ address: services.address });
    const everstep = await Everstep.connect({
      address: services.address,
      dataFolder: services.folder,
      store: services.store,
    });
    const bench = new Bench(services, everstep, new Client({ connection, namespace: NAMESPACE }));
    await bench.measure({ stepMs: 10, submitAhead: 1, stepCount: 20 });
    for (const one of cases) {
      const measured: Measured[] = [];
      for (let index = 0; index < repeats; index++) measured.push(await bench.measure(one));
      print(one, measured);
    }
    await everstep.close();
    await connection.close();
  } finally {
    await services.stop();
  }
}

void main();
