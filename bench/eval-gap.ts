/**
 * How long the engine waits between a result of training and the next step's first request, with and without evaluations
 * on the same worker: what background work costs the step loop.
 *
 *     npm run bench:eval-gap -- [--steps 1000] [--step-ms 20] [--repeats 3] [--apart]
 *
 * Measured at the engine's server. The engine only keeps time, also for draws, so its own arithmetic plays no part;
 * worker, Temporal and engine share the machine. Waits for the next segment, which pass the Temporal server, are apart.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { BenchClient } from './bench-client';
import { connectTo, tinyConfig } from './bench-client';
import type { Gap } from './engine-traffic';
import { gapsBeforeSubmits } from './engine-traffic';
import { readRunHistory } from './run-history';
import { BenchServices } from './services';
import { quantile } from './work-items';

const FORWARD_SHARE = 0.8;
const SAMPLE_MS = 100;
const HELD_OUT = path.join(__dirname, '..', 'data', 'arithmetic', 'test.jsonl');
/** Training in one process, evaluations in another. */
const APART = [
  ['workflows', 'training'],
  ['sampling', 'grading', 'judging'],
];
const NO_EVALUATIONS = { evalEvery: 0, infrequentEvalEvery: 0 };
/** So often that one evaluation follows the other. */
const EVALUATIONS = {
  evalEvery: 100,
  infrequentEvalEvery: 0,
  evaluators: [
    { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 200 },
    { type: 'nll', name: 'held-out', dataset: { path: HELD_OUT }, maxExamples: 200 },
  ],
};

interface Case {
  readonly submitAhead: number;
  readonly isEvaluated: boolean;
  readonly steps: number;
}

interface Measured {
  readonly within: readonly number[];
  readonly handovers: readonly number[];
  readonly cellCount: number;
}

class Bench {
  private runCount = 0;

  constructor(
    private readonly services: BenchServices,
    private readonly client: BenchClient,
  ) {}

  async measure({ submitAhead, isEvaluated, steps }: Case): Promise<Measured> {
    const run = `gap-${++this.runCount}`;
    await this.services.takeTraffic();
    const evaluations = isEvaluated ? EVALUATIONS : NO_EVALUATIONS;
    const config = tinyConfig({ steps, submitAhead, ...evaluations });
    const handle = await this.client.everstep.train(config, { run });
    const { status } = await handle.result();
    if (status !== 'completed') throw new Error(`${run} ended ${status}.`);
    const gaps = gapsBeforeSubmits(await this.services.takeTraffic());
    const workflow = this.client.temporal.workflow.getHandle(handle.workflowId);
    const { segmentEndsMs } = await readRunHistory(workflow);
    const isHandover = ({ fromMs, milliseconds }: Gap): boolean =>
      segmentEndsMs.some((endMs) => endMs >= fromMs && endMs <= fromMs + milliseconds + 1);
    const cells = await handle.evaluations();
    return {
      within: gaps.filter((gap) => !isHandover(gap)).map(({ milliseconds }) => milliseconds),
      handovers: gaps.filter(isHandover).map(({ milliseconds }) => milliseconds),
      cellCount: cells.filter((cell) => cell.status === 'done').length,
    };
  }
}

function describe(measured: readonly Measured[]): { readonly text: string; readonly p99: number } {
  const within = measured.flatMap((one) => one.within);
  const handovers = measured.flatMap((one) => one.handovers);
  const cellCount = measured.reduce((sum, one) => sum + one.cellCount, 0);
  const of = (values: readonly number[]): string =>
    `n ${values.length}, p50 ${quantile(values, 0.5).toFixed(1)}, p99 ${quantile(values, 0.99).toFixed(1)}, max ${Math.max(0, ...values).toFixed(1)} ms`;
  return {
    text: `${of(within)}; between segments ${of(handovers)}; ${cellCount} cells`,
    p99: quantile(within, 0.99),
  };
}

async function compare(bench: Bench, one: Omit<Case, 'isEvaluated'>, repeats: number): Promise<void> {
  const alone: Measured[] = [];
  const evaluated: Measured[] = [];
  // In turns, so that both meet the same neighbours on the machine.
  for (let index = 0; index < repeats; index++) {
    alone.push(await bench.measure({ ...one, isEvaluated: false }));
    evaluated.push(await bench.measure({ ...one, isEvaluated: true }));
  }
  const [without, withThem] = [describe(alone), describe(evaluated)];
  console.log(
    [
      `submitAhead ${one.submitAhead}`,
      `without evaluations: ${without.text}`,
      `with evaluations:    ${withThem.text}`,
      `p99 grows by ${(withThem.p99 - without.p99).toFixed(1)} ms`,
    ].join('\n  '),
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '1000' },
      'step-ms': { type: 'string', default: '20' },
      repeats: { type: 'string', default: '3' },
      apart: { type: 'boolean', default: false },
    },
  });
  const stepMs = Number(values['step-ms']);
  const services = await BenchServices.start('paced', values.apart ? APART : [[]]);
  try {
    await services.setPace({
      forwardBackwardMs: stepMs * FORWARD_SHARE,
      optimStepMs: stepMs * (1 - FORWARD_SHARE),
      sampleMs: SAMPLE_MS,
    });
    const client = await connectTo(services);
    const bench = new Bench(services, client);
    await bench.measure({ submitAhead: 1, isEvaluated: true, steps: 100 });
    const steps = Number(values.steps);
    for (const submitAhead of [1, 0]) await compare(bench, { submitAhead, steps }, Number(values.repeats));
    await client.close();
  } finally {
    await services.stop();
  }
}

void main();
