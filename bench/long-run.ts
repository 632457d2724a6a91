/**
 * What grows with the length of a run: events of each execution of its workflow, memory of worker and engine, and the
 * time to replay the longest history.
 *
 *     npm run bench:long-run -- [--steps 20000] [--eval-every 2000] [--examples 100]
 *
 * The engine is the real one. Temporal, engine and worker are processes started as `everstep dev` starts them; the
 * replay runs in a fresh process.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { temporal } from '@temporalio/proto';
import type { RunHandle } from '../src/client/run-handle';
import { createRunStore } from '../src/stores/run-store';
import type { BenchClient } from './bench-client';
import { connectTo, tinyConfig } from './bench-client';
import { BenchServices, JITI } from './services';

const SHARES = [0.01, 0.1, 0.25, 0.5, 0.75, 1];
const POLL_MS = 250;
const { History } = temporal.api.history.v1;

interface Length {
  readonly steps: number;
  readonly evalEvery: number;
  /** Of each evaluation. */
  readonly examples: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '20000' },
      'eval-every': { type: 'string', default: '2000' },
      examples: { type: 'string', default: '100' },
    },
  });
  const length = {
    steps: Number(values.steps),
    evalEvery: Number(values['eval-every']),
    examples: Number(values.examples),
  };
  const services = await BenchServices.start('real');
  try {
    const client = await connectTo(services);
    await measure(services, client, length);
    await client.close();
  } finally {
    await services.stop();
  }
}

async function measure(services: BenchServices, client: BenchClient, length: Length): Promise<void> {
  const { steps, evalEvery, examples } = length;
  const startedAt = performance.now();
  const handle = await client.everstep.train(
    tinyConfig({
      steps,
      saveEvery: 500,
      evalEvery,
      evaluators: [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: examples }],
    }),
    { run: 'long' },
  );
  await printMemory(services, steps);
  await requireWhole(services, handle, steps);
  console.log(`${steps} steps in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  await printHistories(services, client, handle.workflowId);
}

/** Prints resident memory whenever the run has come a share further. */
async function printMemory(services: BenchServices, steps: number): Promise<void> {
  const store = createRunStore(services.store);
  const pids = { worker: services.workers[0]?.pid ?? 0, engine: services.enginePid };
  for (const share of SHARES) {
    let step = 0;
    while (step < share * steps) {
      await delay(POLL_MS);
      step = (await store.readLastMetrics('long'))?.step ?? 0;
    }
    const memory = Object.entries(pids).map(([name, pid]) => `${name} ${residentMebibytes(pid).toFixed(0)}`);
    console.log(`step ${step} (${share * 100} %): resident MiB ${memory.join(', ')}`);
  }
}

function residentMebibytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

async function requireWhole(services: BenchServices, handle: RunHandle, steps: number): Promise<void> {
  const { status } = await handle.result();
  const rows = await createRunStore(services.store).readMetrics('long');
  const isWhole = rows.length === steps && rows.every(({ step }, index) => step === index + 1);
  if (status !== 'completed' || !isWhole) {
    throw new Error(`The run ended ${status} with ${rows.length} of ${steps} rows.`);
  }
}

async function printHistories(
  services: BenchServices,
  client: BenchClient,
  workflowId: string,
): Promise<void> {
  const executions = client.temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` });
  let longest: { readonly length: number; readonly json: string } = { length: 0, json: '' };
  for await (const { runId, historySize } of executions) {
    const history = await client.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const length = history.events?.length ?? 0;
    console.log(`execution ${runId}: ${length} events, ${historySize ?? NaN} bytes`);
    if (length <= longest.length) continue;
    longest = {
      length,
      json: JSON.stringify(History.toObject(History.fromObject(history), { bytes: String })),
    };
  }
  const file = path.join(services.folder, 'history.json');
  writeFileSync(file, longest.json);
  const replay = await promisify(execFile)(process.execPath, [JITI, path.join(__dirname, 'replay.ts'), file]);
  console.log(`replay of the ${longest.length} events: ${replay.stdout.trim()}`);
}

void main();
