/**
 * Records what the workflows do now, for the replay test: `npx jiti scripts/record-histories.ts`.
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
import { readEnvironment } from '../src/config/environment';
import { SupervisedConfig } from '../src/config/supervised-config';
import { EVERSTEP_VERSION } from '../src/core/version';
import { waitForExit } from '../src/stack/process-identity';
import { findStack } from '../src/stack/stack-record';
import { useStack } from '../src/stack/use-stack';
import type { TrainSupervisedInput } from '../src/workflows/contracts';
import { statusQuery, stopUpdate } from '../src/workflows/contracts';

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
  const engine = findStack(folder)?.children.find(({ name }) => name === 'engine');
  if (!engine) throw new Error('The stack has no engine.');
  process.kill(engine.pid, 'SIGKILL');
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
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  const connection = await Connection.connect({ address: use.stack.temporalAddress });
  try {
    const client = new Client({ connection, namespace: use.stack.namespace });
    await record(new Recorder(client, folder), folder);
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
