/**
 * Records what the workflows do now, for the replay test: `npx jiti scripts/record-histories.ts`, or with `benchmarks` or `controls`
 * behind it only those (`reinforcement`, `backfills` and `evaluators`, too).
 *
 * Each release adds its histories under `test/histories/<version>/`; older ones stay for as long as runs of that time
 * may be under way.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { Client, Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { Everstep } from '../src/client/everstep';
import { readEnvironment } from '../src/config/environment';
import { ReinforcementConfig } from '../src/config/reinforcement-config';
import { SupervisedConfig } from '../src/config/supervised-config';
import type { EvaluatorRequest } from '../src/core/benchmark-run';
import type { CanaryRequest, CanaryWebhook } from '../src/core/canary';
import { EVERSTEP_VERSION } from '../src/core/version';
import { waitForExit } from '../src/stack/process-identity';
import type { StackRecord } from '../src/stack/stack-record';
import { findStack } from '../src/stack/stack-record';
import { streamProgress } from '../src/stack/progress';
import { useStack } from '../src/stack/use-stack';
import { createRunStore } from '../src/stores/run-store';
import type { BackfillInput } from '../src/workflows/backfill-contracts';
import type { CanaryInput } from '../src/workflows/canary-contracts';
import type { TrainSupervisedInput } from '../src/workflows/contracts';
import { statusQuery, stopUpdate, timelineQuery } from '../src/workflows/contracts';

const ROOT = path.resolve(__dirname, '..');
const OUTPUT = path.join(ROOT, 'test', 'histories', EVERSTEP_VERSION);

const STOP_LIMIT_MS = 40_000;
const { History } = temporal.api.history.v1;

const SUMS = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

const ANSWERS = {
  type: 'plugin',
  name: 'answers',
  evaluator: 'answerLength',
  options: { questions: ['1+1='] },
};

class Recorder {
  constructor(
    private readonly client: Client,
    private readonly folder: string,
  ) {}

  async start(run: string, more: object, input: Partial<TrainSupervisedInput> = {}): Promise<WorkflowHandle> {
    const config = SupervisedConfig.parse({
      kind: 'sft',
      model: 'everstep/tiny',
      dataset: { path: path.join(ROOT, 'data/arithmetic/train.jsonl'), limit: 256 },
      steps: 12,
      batchSize: 32,
      loraRank: 4,
      saveEvery: 4,
      evalEvery: 4,
      evaluators: [SUMS, ANSWERS],
      plugins: path.join(ROOT, 'configs/plugins/everstep.config.ts'),
      ...more,
    });
    return this.client.workflow.start('trainSupervised', {
      taskQueue: 'everstep',
      workflowId: `train/${run}`,
      args: [
        {
          run,
          config,
          useSearchAttributes: true,
          provenance: {
            everstepVersion: EVERSTEP_VERSION,
            codeRevision: null,
            startedBy: 'recorder',
            command: [],
          },
          ...input,
        } satisfies TrainSupervisedInput,
      ],
    });
  }

  /** Two shards a step, so that they are sampled side by side. */
  startReinforcement(run: string, more: object, input: object = {}): Promise<WorkflowHandle> {
    const config = ReinforcementConfig.parse({
      kind: 'rl',
      model: 'everstep/tiny',
      environment: { type: 'arithmetic' },
      steps: 6,
      groupsPerBatch: 40,
      groupSize: 2,
      maxTokens: 4,
      loraRank: 4,
      saveEvery: 3,
      evalEvery: 2,
      evaluators: [{ type: 'rlTestSet', limit: 8 }],
      ...more,
    });
    const provenance = {
      ...{ everstepVersion: EVERSTEP_VERSION, codeRevision: null, startedBy: 'recorder', command: [] },
    };
    return this.client.workflow.start('trainReinforcement', {
      taskQueue: 'everstep',
      workflowId: `train/${run}`,
      args: [{ run, config, useSearchAttributes: true, provenance, ...input }],
    });
  }

  /** Several samples of the base model, so that there are several shards. */
  async benchmark(run: string, more: object): Promise<void> {
    const request = {
      run,
      folder: path.join(this.folder, 'store', 'evals', run),
      benchmark: 'arithmetic',
      model: { type: 'engine', model: 'everstep/tiny', path: null, label: null },
      numSamples: 3,
      maxTokens: 2,
      concurrency: 64,
      agentConcurrency: 8,
      ...more,
    };
    await this.client.workflow.execute('runBenchmark', {
      taskQueue: 'everstep',
      workflowId: `bench/${run}/arithmetic`,
      args: [{ request }],
    });
  }

  /** Runs an evaluator of a run on its last checkpoint. */
  async evaluator(evaluator: string, trainingRun: string): Promise<EvaluatorRequest> {
    const store = path.join(this.folder, 'store');
    const row = (await createRunStore(store).readCheckpoints(trainingRun)).at(-1);
    const request: EvaluatorRequest = {
      run: 'alone',
      folder: path.join(store, 'evals', 'alone'),
      evaluator,
      trainingRun,
      step: row?.step ?? 0,
      lineage: row?.lineage ?? 0,
      samplerPath: row?.sampler_path ?? '',
    };
    await this.client.workflow.execute('runEvaluator', {
      taskQueue: 'everstep',
      workflowId: `bench/${request.run}/${evaluator}`,
      args: [{ request }],
    });
    return request;
  }

  /** Returns the run id of the first execution. */
  async backfill(input: BackfillInput): Promise<string> {
    const handle = await this.client.workflow.start('backfill', {
      taskQueue: 'everstep',
      workflowId: `backfill/${input.request.name}`,
      args: [input],
    });
    await handle.result();
    return handle.firstExecutionRunId;
  }

  async canary(name: string, input: CanaryInput): Promise<void> {
    const workflowId = `canary/${input.request.name}-2026-01-01T00:00:00Z`;
    await this.client.workflow.execute('canary', { taskQueue: 'everstep', workflowId, args: [input] });
    await this.save(name, workflowId);
  }

  async save(name: string, workflowId: string, runId?: string): Promise<void> {
    const history = await this.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const plain = History.toObject(History.fromObject(history), {
      longs: String,
      enums: String,
      bytes: String,
    });
    const file = path.join(OUTPUT, `${name}.json`);
    writeFileSync(file, eventsOnLines(this.anonymous(plain)));
    process.stdout.write(`${name}: ${history.events?.length ?? 0} events\n`);
  }

  /** Without this machine's folders and names, so that recordings of two machines differ only where the workflows do. */
  private anonymous(value: unknown, key = ''): unknown {
    if (Array.isArray(value)) return value.map((item) => this.anonymous(item, key));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, this.anonymous(inner, name)]),
      );
    }
    if (typeof value !== 'string') return value;
    if (key === 'identity') return 'worker';
    if (key === 'stackTrace') return '';
    if (key !== 'data') return this.withoutFolders(value);
    return Buffer.from(this.withoutFolders(Buffer.from(value, 'base64').toString('utf8'))).toString('base64');
  }

  private withoutFolders(text: string): string {
    return text.replaceAll(this.folder, '/data').replaceAll(ROOT, '/everstep');
  }
}

function eventsOnLines(history: unknown): string {
  return JSON.stringify(history).replaceAll('{"eventId":', '\n{"eventId":') + '\n';
}

async function record(recorder: Recorder, folder: string): Promise<void> {
  const plain = await recorder.start('plain', {});
  await plain.result();
  await recorder.save('train-supervised', 'train/plain');
  await recorder.save('evaluate-checkpoint', 'eval/plain/4');

  const schedules = [{ name: 'hold', every: { steps: 4 }, mode: 'blocking', evaluators: [SUMS] }];
  const held = await recorder.start('held', { evalEvery: undefined, evaluators: undefined, schedules });
  await held.result();
  await recorder.save('train-supervised-blocking', 'train/held');

  const continued = await recorder.start(
    'continued',
    { steps: 100, batchSize: 128, saveEvery: 50, evalEvery: 25 },
    { maxHistoryEvents: 20 },
  );
  const first = (await continued.describe()).runId;
  await continued.result();
  await recorder.save('train-supervised-continues', 'train/continued', first);
  await recorder.save('train-supervised-continued', 'train/continued');

  const rewound = await recorder.start('rewound', {
    steps: 120,
    batchSize: 128,
    saveEvery: 20,
    evalEvery: 20,
  });
  await untilStep(rewound, 20);
  killEngine(folder);
  await rewound.result();
  await recorder.save('train-supervised-rewound', 'train/rewound');

  const cancelled = await recorder.start('cancelled', {
    steps: 500,
    batchSize: 128,
    saveEvery: 50,
    evalEvery: 20,
  });
  await untilStep(cancelled, 20);
  await cancelled.cancel();
  await cancelled.result().catch(() => undefined);
  await recorder.save('train-supervised-cancelled', 'train/cancelled');

  const stopped = await recorder.start('stopped', {
    steps: 500,
    batchSize: 128,
    saveEvery: 50,
    evalEvery: 20,
  });
  await untilStep(stopped, 20);
  await stopped.executeUpdate(stopUpdate, { args: [{ by: 'recorder', reason: 'enough', atStep: null }] });
  await stopped.result();
  await recorder.save('train-supervised-stopped', 'train/stopped');

  const failed = await recorder.start('failed', { renderer: 'nope' });
  await failed.result().catch(() => undefined);
  await recorder.save('train-supervised-failed', 'train/failed');
}

/** Benchmarks by themselves: in several shards, with a result that is there already, and refused. */
async function recordBenchmarks(recorder: Recorder): Promise<void> {
  await recorder.benchmark('sums', { maxExamples: 800 });
  await recorder.save('run-benchmark', 'bench/sums/arithmetic');
  await recorder.benchmark('sums', { maxExamples: 800 });
  await recorder.save('run-benchmark-finished', 'bench/sums/arithmetic');
  await recorder.benchmark('sums', { maxExamples: 10 }).catch(() => undefined);
  await recorder.save('run-benchmark-refused', 'bench/sums/arithmetic');
}

/** A matrix whose benchmarks are run, whose cells are all there, and one that continues as new. */
async function recordBackfills(
  recorder: Recorder,
  store: string,
  { temporalAddress, namespace }: StackRecord,
): Promise<void> {
  const everstep = await Everstep.connect({ address: temporalAddress, namespace, store });
  const run = await recorder.start('rows', { evalEvery: 0, evaluators: [] });
  await run.result();
  const options = { runs: ['rows'], benchmarks: ['arithmetic'], maxExamples: 8, maxTokens: 2 };
  for (const name of ['backfill', 'backfill-present']) {
    await (await everstep.backfill({ ...options, name: 'matrix' })).result();
    await recorder.save(name, 'backfill/matrix');
  }
  const { request } = await everstep.prepareBackfill({
    ...options,
    maxExamples: 9,
    name: 'long',
    parallel: 1,
  });
  const first = await recorder.backfill({ request, maxHistoryEvents: 12 });
  await recorder.save('backfill-continues', 'backfill/long', first);
  await recorder.save('backfill-continued', 'backfill/long');
  await everstep.close();
}

/** An evaluator of a training run, alone on its last checkpoint. */
/** Firings that pin, alarm and cannot tell anybody, fail at their deadline, and attach to a benchmark that is there. */
async function recordCanaries(recorder: Recorder, store: string): Promise<void> {
  const request: CanaryRequest = {
    ...{ name: 'watch', store, benchmarks: ['arithmetic'], deadlineSeconds: 3600 },
    model: { type: 'engine', model: 'everstep/tiny', path: null, label: null },
    asking: { numSamples: 1, maxExamples: 8, maxTokens: 2, concurrency: 64, agentConcurrency: 8 },
    pin: { type: 'first' },
    band: { type: 'test', level: 0.95 },
  };
  await recorder.canary('canary', { request });
  const webhook: CanaryWebhook = { url: { type: 'variable', value: 'EVERSTEP_WEBHOOK_UNSET' }, headers: {} };
  const pin = { type: 'scores', scores: { arithmetic: 0.9 } } as const;
  await recorder.canary('canary-alarm', { request: { ...request, name: 'alarm', pin, webhook } });
  const model = { type: 'endpoint', url: 'http://127.0.0.1:9/v1', api: 'chat', model: 'away' } as const;
  await recorder.canary('canary-failed', {
    request: { ...request, name: 'away', model, deadlineSeconds: 3 },
  });
}

async function recordEvaluator(recorder: Recorder): Promise<void> {
  const run = await recorder.start('evaluated', { steps: 4 });
  await run.result();
  const request = await recorder.evaluator('answers', 'evaluated');
  await recorder.save('run-evaluator', `bench/${request.run}/answers`);
}

/** Every change people can make, and a pause that lets go of the model. */
async function recordControlled(recorder: Recorder): Promise<void> {
  const config = { steps: 500, batchSize: 128, saveEvery: 10, evalEvery: 20 };
  const run = await recorder.start('controlled', config, { holdSeconds: 1 });
  const by = { by: 'recorder', reason: 'to see' };
  await untilStep(run, 20);
  const change = (update: string, request: object) =>
    run.executeUpdate(update, { args: [{ ...by, ...request }] });
  await change('setLearningRate', { value: null, multiplier: 0.5, atStep: null });
  await change('setEvalSchedule', {
    ...{ schedule: 'evaluators', every: { steps: 15 }, at: null, add: [], remove: [], atStep: null },
  });
  await change('runEvaluation', { evaluators: ['arithmetic'], checkpoint: null });
  await change('runEvaluation', { evaluators: ['answers'], checkpoint: 10 });
  await change('setBudget', { limits: { tokens: 1e12 } });
  await change('promote', { checkpoint: 10 });
  await change('pause', { atStep: null, seconds: null, then: 'resume' });
  await untilReleased(run);
  await change('runEvaluation', { evaluators: ['arithmetic'], checkpoint: null });
  await change('resume', {});
  await change('pause', { atStep: null, seconds: 1, then: 'stop' });
  await run.result();
  await recorder.save('train-supervised-controlled', 'train/controlled');
}

/** Gates of each kind, evaluations that wait, are left out and make room, and budgets. */
async function recordGated(recorder: Recorder): Promise<void> {
  const metric = 'test/arithmetic/accuracy';
  const gates: Readonly<Record<string, object>> = {
    slowed: { rule: { atLeast: 1 }, otherwise: { learningRate: 0.5 } },
    ended: { rule: { improvesOnBase: 0.95 }, otherwise: 'stop' },
    promoted: { rule: { notWorseThanBest: 0.95 } },
  };
  for (const [name, gate] of Object.entries(gates)) {
    const mode = 'otherwise' in gate ? 'blocking' : 'background';
    const schedules = [
      { name: 'gated', every: { steps: 3 }, mode, evaluators: [SUMS], gate: { metric, ...gate } },
      {
        name: 'beside',
        every: { steps: 2 },
        overlap: 'skip',
        evaluators: [ANSWERS],
        budget: { seconds: 600 },
      },
    ];
    const run = await recorder.start(name, { evalEvery: undefined, evaluators: undefined, schedules });
    await run.result();
    await recorder.save(`train-supervised-gate-${name}`, `train/${name}`);
  }
  const overlapping = ['queue', 'skip', 'cancel-older'].map((overlap) => ({
    ...{ name: overlap, every: { steps: 2 }, overlap },
    evaluators: [{ ...SUMS, name: overlap, maxExamples: 200 }],
  }));
  const crowded = await recorder.start(
    'crowded',
    { evalEvery: undefined, evaluators: undefined, schedules: overlapping, budget: { tokens: 1e12 } },
    { maxHistoryEvents: 60 },
  );
  await crowded.result();
  await recorder.save('train-supervised-overlap', 'train/crowded');
  await recorder.save('evaluate-checkpoint-parts', 'eval/crowded/0');
}

/** In turns, sampled ahead, streamed, with a lost model, with changes on the way, and cancelled. */
async function recordReinforcement(recorder: Recorder, folder: string): Promise<void> {
  const runs: Readonly<Record<string, object>> = {
    '': {},
    '-ahead': { maxStepsOffPolicy: 1 },
    '-streamed': { streamedMinibatches: 2 },
  };
  for (const [name, more] of Object.entries(runs)) {
    const run = await recorder.startReinforcement(`rewards${name}`, more);
    await run.result();
    await recorder.save(`train-reinforcement${name}`, `train/rewards${name}`);
  }
  const continued = await recorder.startReinforcement(
    'rewards-continued',
    { steps: 12, maxStepsOffPolicy: 1 },
    { maxHistoryEvents: 60 },
  );
  const first = (await continued.describe()).runId;
  await continued.result();
  await recorder.save('train-reinforcement-continues', 'train/rewards-continued', first);
  await recorder.save('train-reinforcement-continued', 'train/rewards-continued');

  const rewound = await recorder.startReinforcement('rewards-rewound', { steps: 12 });
  await untilStep(rewound, 4);
  killEngine(folder);
  await rewound.result();
  await recorder.save('train-reinforcement-rewound', 'train/rewards-rewound');

  const changed = await recorder.startReinforcement('rewards-changed', { steps: 40, evalEvery: 10 });
  const change = (update: string, request: object) =>
    changed.executeUpdate(update, { args: [{ by: 'recorder', reason: 'to see', ...request }] });
  await untilStep(changed, 3);
  await change('setLearningRate', { value: null, multiplier: 0.5, atStep: null });
  await change('pause', { atStep: null, seconds: null, then: 'resume' });
  await change('resume', {});
  await untilStep(changed, 12);
  await change('stop', { atStep: null });
  await changed.result();
  await recorder.save('train-reinforcement-changed', 'train/rewards-changed');

  const cancelled = await recorder.startReinforcement('rewards-cancelled', { steps: 200 });
  await untilStep(cancelled, 3);
  await cancelled.cancel();
  await cancelled.result().catch(() => undefined);
  await recorder.save('train-reinforcement-cancelled', 'train/rewards-cancelled');
}

function killEngine(folder: string): void {
  const engine = findStack(folder)?.children.find(({ name }) => name === 'engine');
  if (!engine) throw new Error('The stack has no engine.');
  process.kill(engine.pid, 'SIGKILL');
}

async function untilReleased(handle: WorkflowHandle): Promise<void> {
  while (!(await handle.query(timelineQuery)).some(({ kind }) => kind === 'released'))
    await new Promise((resolve) => setTimeout(resolve, 50));
}

async function untilStep(handle: WorkflowHandle, step: number): Promise<void> {
  while ((await handle.query(statusQuery)).step < step)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

async function main(): Promise<void> {
  // The stack's workers run what was built.
  execFileSync(process.execPath, [path.join(ROOT, 'scripts/build.js'), '--if-needed'], { stdio: 'inherit' });
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-histories-'));
  mkdirSync(OUTPUT, { recursive: true });
  const environment = readEnvironment({ dataDir: folder, store: path.join(folder, 'store') });
  const use = await useStack({
    environment,
    purpose: 'record histories',
    progress: streamProgress(process.stderr),
  });
  const connection = await Connection.connect({ address: use.stack.temporalAddress });
  try {
    const client = new Client({ connection, namespace: use.stack.namespace });
    const recorder = new Recorder(client, folder);
    const only = process.argv[2];
    const isAsked = (name: string) => only === undefined || only === name;
    if (isAsked('benchmarks')) await recordBenchmarks(recorder);
    if (isAsked('controls')) await recordControlled(recorder);
    if (isAsked('gates')) await recordGated(recorder);
    if (isAsked('reinforcement')) await recordReinforcement(recorder, folder);
    if (isAsked('canaries')) await recordCanaries(recorder, environment.store);
    if (isAsked('backfills')) await recordBackfills(recorder, environment.store, use.stack);
    if (isAsked('evaluators')) await recordEvaluator(recorder);
    if (only === undefined) await record(recorder, folder);
  } finally {
    await connection.close();
    await use.release();
    process.kill(use.stack.pid, 'SIGTERM');
    await waitForExit(use.stack, STOP_LIMIT_MS);
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
