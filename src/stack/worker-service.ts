import type { Logger } from 'pino';
import type { Environment } from '../config/environment';
import type { TemporalAddress } from '../config/temporal-connection';
import type { WorkerVersion } from '../config/worker-version';
import { endWhenStuck } from '../workers/end-when-stuck';
import { fixBuiltIns } from '../workers/fixed-built-ins';
import { collectEarly } from '../workers/heap-growth';
import { runWorkers } from '../workers/worker';
import { installTemporalRuntime } from '../workers/logging';
import { outliveStrays } from '../workers/stray-errors';
import { createServiceLogger } from '../workers/service-log';
import { exitWithin } from './service-lifetime';
import type { StopReason } from './service-lifetime';
import { waitUntilServing } from './temporal-probe';

export interface WorkerServiceOptions {
  readonly environment: Environment;
  readonly connection: TemporalAddress;
  readonly roles: readonly string[];
  readonly concurrency: Readonly<Record<string, number>>;
  readonly engine: { readonly url?: string; readonly apiKey?: string };
  readonly plugins?: string;
  /** By a person: code beneath it may run. */
  readonly startedIn?: string;
  readonly version?: WorkerVersion;
  /** The server is that of the stack which started this worker. */
  readonly isOfStack: boolean;
  /** In seconds: `endWhenStuck`. */
  readonly stuckAfter?: number;
  readonly stop: Promise<StopReason>;
  readonly onReady: (line: string) => void;
}

const SERVER_WAIT_MS = 30_000;
/** The stack that has started us starts the server again where that ends. */
const STACK_WAIT_MS = 10 * 60_000;
/** What an activity in flight may still do; what is not finished then is retried by another worker. */
const STOP_LIMIT_MS = 9000;
const ORPHAN_LIMIT_MS = 2000;

/** `everstep worker`: workers in the foreground. Returns the exit code. */
export async function runWorkerService(options: WorkerServiceOptions): Promise<number> {
  const { environment } = options;
  const logger = createServiceLogger({ service: 'worker', level: environment.logLevel });
  installTemporalRuntime(logger);
  collectEarly(options.roles);
  endWhenStuck(options.stuckAfter);
  outliveStrays(logger);
  fixBuiltIns();
  const early = await stopBeforeServing(options);
  return early === null ? work(options, logger) : early.exitCode;
}

async function work(options: WorkerServiceOptions, logger: Logger): Promise<number> {
  const { environment, connection } = options;
  const workers = await runWorkers({
    connection,
    roles: [...options.roles],
    concurrency: { ...options.concurrency },
    dataFolder: environment.dataFolder,
    toolFolder: environment.cacheFolder,
    store: environment.store,
    sandbox: environment.sandbox,
    pluginFolders: environment.pluginFolders,
    keyAddresses: environment.keyAddresses,
    inspectModels: environment.inspectModels,
    engine: options.engine,
    startedIn: options.startedIn,
    ...(options.plugins === undefined ? {} : { plugins: options.plugins }),
    ...(options.version === undefined ? {} : { version: options.version }),
    ...(environment.huggingFaceToken === null ? {} : { huggingFaceToken: environment.huggingFaceToken }),
    ...(environment.huggingFaceUrl === null ? {} : { huggingFaceUrl: environment.huggingFaceUrl }),
    ...(environment.openaiApiKey === null ? {} : { openaiApiKey: environment.openaiApiKey }),
    ...(environment.judgeApiKey === null ? {} : { judgeApiKey: environment.judgeApiKey }),
    ...(environment.benchmarkDataFolder === null
      ? {}
      : { benchmarkDataFolder: environment.benchmarkDataFolder }),
    logger,
  });
  options.onReady(readyLine(workers.taskQueues, options));
  const end = await Promise.race([options.stop, workers.run]);
  if (end === undefined) return 0;
  logger.info({ reason: end.reason }, 'stopping');
  exitWithin(end.reason === 'parent gone' ? ORPHAN_LIMIT_MS : STOP_LIMIT_MS, end.exitCode);
  workers.shutdown();
  await workers.run;
  return end.exitCode;
}

/** A worker that is asked to end while its server is still starting has nothing to finish. */
async function stopBeforeServing(options: WorkerServiceOptions): Promise<StopReason | null> {
  const { connection, isOfStack, stop } = options;
  const serving = waitUntilServing(connection, {
    timeoutMs: isOfStack ? STACK_WAIT_MS : SERVER_WAIT_MS,
    attributes: [],
    isGone: () => null,
  });
  return Promise.race([serving.then(() => null), stop]);
}

function readyLine(
  taskQueues: readonly string[],
  { connection: { address, namespace }, version }: WorkerServiceOptions,
): string {
  const release =
    version === undefined ? '' : `, version ${version.buildId} of deployment ${version.deploymentName}`;
  return `Worker ready on ${taskQueues.join(', ')} (Temporal ${address}, namespace ${namespace}${release})`;
}
