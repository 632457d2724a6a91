import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { GrpcRetryOptions } from '@temporalio/client';
import { Client, Connection, makeGrpcRetryInterceptor } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import pino from 'pino';
import type { CallRepeats } from '../../../src/client/repeat-refused-calls';
import { repeatRefusedCalls } from '../../../src/client/repeat-refused-calls';
import { createModelRuntime } from '../../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime } from '../../../src/engines/local/model-runtime';
import type { LocalEngine, LocalEngineOptions } from '../../../src/engines/local/engine';
import { startLocalEngine } from '../../../src/engines/local/engine';
import type { RunStore } from '../../../src/stores/run-store';
import { createRunStore } from '../../../src/stores/run-store';
import { installTemporalRuntime } from '../../../src/workers/logging';
import type { RunningWorkers } from '../../../src/workers/worker';
import { runWorkers } from '../../../src/workers/worker';
import type { RunWorkersOptions } from '../../../src/workers/worker-options';
import { until } from './runs';

const logger = pino({ level: process.env['EVERSTEP_TEST_LOG'] ?? 'silent' }, pino.destination(2));

/** Of the same sources, which the run's global setup has built: bundling them takes seconds each time. */
const WORKFLOW_BUNDLE = resolve(__dirname, '../../../dist/workflow-bundle.js');

interface StackParts {
  readonly folder: string;
  readonly namespace: string;
  readonly client: Client;
  readonly connection: Connection;
  readonly repeats: CallRepeats;
  readonly engineOptions: Partial<LocalEngineOptions> & { readonly runtime: ModelRuntime };
}

/** A real server, a real engine over the real wire, and the production worker, with a store of its own. */
export class TestStack {
  private static hasRuntime = false;
  private workers: RunningWorkers | null = null;

  private constructor(
    private readonly parts: StackParts,
    public engine: LocalEngine,
  ) {}

  get folder(): string {
    return this.parts.folder;
  }

  get client(): Client {
    return this.parts.client;
  }

  get address(): string {
    return process.env['EVERSTEP_TEST_TEMPORAL_ADDRESS'] ?? '';
  }

  get namespace(): string {
    return this.parts.namespace;
  }

  /** In a namespace of its own: task queues have fixed names, so stacks of one server share nothing else. */
  static async start(engineOptions: Partial<LocalEngineOptions> = {}): Promise<TestStack> {
    const address = process.env['EVERSTEP_TEST_TEMPORAL_ADDRESS'];
    if (address === undefined)
      throw new Error('No Temporal server: run through jest without EVERSTEP_TEST_NO_SERVER.');
    const folder = mkdtempSync(join(tmpdir(), 'everstep-workflows-'));
    const runtime = engineOptions.runtime ?? (await createModelRuntime({ threads: 1 }));
    const options = { ...engineOptions, runtime };
    const dataFolder = join(folder, 'engine');
    const engine = await startLocalEngine({ port: 0, dataFolder, logger, ...options });
    const namespace = basename(folder);
    const repeats = repeatRefusedCalls();
    const connection = await Connection.connect({
      address,
      interceptors: [makeGrpcRetryInterceptor(withBrokenOffCalls(repeats))],
    });
    await registerNamespace(connection, namespace);
    const client = new Client({ connection, namespace });
    const parts = { folder, namespace, client, connection, repeats, engineOptions: options };
    return new TestStack(parts, engine);
  }

  get store(): RunStore {
    return createRunStore(join(this.folder, 'store'));
  }

  /** `engine`: what a worker knows of the engine besides its address. */
  async startWorkers(
    engine: { readonly apiKey?: string; readonly url?: string } = {},
    more: Partial<
      Pick<
        RunWorkersOptions,
        'huggingFaceUrl' | 'concurrency' | 'openaiApiKey' | 'judgeApiKey' | 'keyAddresses' | 'store'
      >
    > = {},
  ): Promise<void> {
    // The native runtime keeps the process alive until its last worker has ended; tests whose workers are processes of their own need none.
    if (!TestStack.hasRuntime) installTemporalRuntime(logger);
    TestStack.hasRuntime = true;
    this.workers = await runWorkers({
      connection: {
        address: this.address,
        namespace: this.parts.namespace,
      },
      roles: ['workflows', 'training', 'sampling', 'judging'],
      concurrency: {},
      dataFolder: this.folder,
      store: join(this.folder, 'store'),
      engine: { url: this.engine.url, ...engine },
      pluginFolders: [this.folder],
      workflowBundle: WORKFLOW_BUNDLE,
      ...more,
      logger,
    });
  }

  async stopWorkers(): Promise<void> {
    this.workers?.shutdown();
    await this.workers?.run;
    this.workers = null;
  }

  /**
   * As if the engine had died and been started again: its models are gone, its checkpoints are not. `letGo` is for what is
   * held in it, of which nobody hears any more.
   */
  async restartEngine(letGo: () => void = () => undefined): Promise<void> {
    const port = Number(new URL(this.engine.url).port);
    const closed = this.engine.close();
    await untilSilent(this.engine.url);
    letGo();
    await closed;
    this.engine = await startLocalEngine({
      port,
      dataFolder: join(this.folder, 'engine'),
      logger,
      ...this.parts.engineOptions,
    });
  }

  /** Optimizer steps this engine has applied since it was started. */
  async stepsApplied(): Promise<number> {
    const text = await (await fetch(`${this.engine.url}/metrics`)).text();
    return Number(/steps_applied_total (\d+)/.exec(text)?.[1]);
  }

  /** The engine's name for a run's model; null while there is none. */
  async modelOf(run: string): Promise<string | null> {
    const row = (await this.store.readCheckpoints(run)).at(-1);
    return /^tinker:\/\/([^/]+)/.exec(row?.state_path ?? '')?.[1] ?? null;
  }

  /** Sampler weights of a model that the engine still keeps. */
  async samplerPaths(modelId: string): Promise<string[]> {
    const response = await fetch(`${this.engine.url}/api/v1/training_runs/${modelId}/checkpoints`);
    const { checkpoints } = (await response.json()) as { checkpoints: { tinker_path: string }[] };
    return checkpoints
      .map(({ tinker_path }) => tinker_path)
      .filter((path) => path.includes('/sampler_weights/'));
  }

  async isModelLoaded(modelId: string, engineUrl = this.engine.url): Promise<boolean> {
    const response = await fetch(`${engineUrl}/api/v1/get_info`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model_id: modelId }),
    });
    return response.ok;
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    // What a test no longer waits for may be about to be asked again.
    await this.parts.repeats.end();
    await this.parts.connection.close();
    await this.engine.close();
    await this.parts.engineOptions.runtime.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Nobody can ask an engine any more, and whoever had asked gets no answer. */
export async function untilSilent(url: string): Promise<void> {
  await until(() =>
    fetch(`${url}/api/v1/healthz`).then(
      () => null,
      () => true,
    ),
  );
}

/** The code of gRPC. */
const DEADLINE_EXCEEDED: ReadonlySet<number> = new Set([4]);
const UNAVAILABLE = 14;

/**
 * A server on a busy machine breaks off a call whose work took longer than it gives its database, which is none of what a
 * story is about: it is made again as where the server is away. A deadline of this side reads otherwise.
 */
function withBrokenOffCalls(repeats: GrpcRetryOptions): GrpcRetryOptions {
  return {
    ...repeats,
    retryableDecider: (attempt, status) => {
      const { code, details } = status;
      const isBrokenOff = DEADLINE_EXCEEDED.has(code) && details.startsWith('context deadline exceeded');
      return repeats.retryableDecider(attempt, { ...status, code: isBrokenOff ? UNAVAILABLE : code });
    },
  };
}

async function registerNamespace(connection: Connection, namespace: string): Promise<void> {
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('ALREADY_EXISTS')) throw error;
  }
}
