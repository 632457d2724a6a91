import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkerOptions, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { DomainError } from '../core/errors';
import { TASK_QUEUES } from '../core/task-queues';
import type { WorkerRole } from '../core/task-queues';
import { processSandboxes } from '../sandboxes/process-sandboxes';
import { createDependencies } from './dependencies';
import { DomainFailureInterceptor } from './domain-failure-interceptor';
import { SetBackInterceptor } from './set-back-interceptor';
import { nativeConnectionOptions } from './native-connection';
import type { RoleQueue } from './roles';
import { queuesOf } from './roles';
import { versioningOptions } from './versioning-options';
import type { DeploymentReader } from './watch-version';
import { watchVersion } from './watch-version';
import type { RunWorkersOptions } from './worker-options';

export interface RunningWorkers {
  readonly taskQueues: readonly string[];
  /** Settles when all of them have stopped. */
  readonly run: Promise<void>;
  shutdown(): void;
}

/** What an activity in flight may still do once a stop is asked for; segments end by themselves much sooner. */
const GRACE = '5 seconds';
/** Shorter than a worker's way out, which waits for the answer. */
const DESCRIBE_LIMIT_MS = 3000;

/** Starts a worker for each task queue of the roles on one connection. The Temporal runtime and its logging are the caller's. */
export async function runWorkers(options: RunWorkersOptions): Promise<RunningWorkers> {
  const stopping = new AbortController();
  if (options.sandbox !== undefined) processSandboxes.choose(options.sandbox);
  const connection = await NativeConnection.connect(nativeConnectionOptions(options.connection));
  const dependencies = createDependencies(options, stopping.signal);
  const roles = parseRoles(options.roles);
  const queues = roles.flatMap((role) => queuesOf(role, dependencies, options.concurrency[role]));
  const workers = await Promise.all(queues.map((queue) => createWorker({ queue, options, connection })));
  const ended = new AbortController();
  const taskQueues = queues.map(({ taskQueue }) => taskQueue);
  const watching = watchOwnVersion(options, { connection, taskQueues, signal: ended.signal });
  const run = async () => {
    try {
      await Promise.all(workers.map((worker) => worker.run()));
    } finally {
      ended.abort();
      await watching;
      await connection.close();
      await processSandboxes.close();
    }
  };
  return {
    taskQueues,
    run: run(),
    shutdown() {
      stopping.abort();
      ended.abort();
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    },
  };
}

async function watchOwnVersion(
  { version, connection: server, logger }: RunWorkersOptions,
  { connection, taskQueues, signal }: WatchedWorkers,
): Promise<void> {
  if (version === undefined) return;
  const { workflowService } = connection;
  const soon = <Value>(ask: () => Promise<Value>) =>
    connection.withDeadline(Date.now() + DESCRIBE_LIMIT_MS, ask);
  const service: DeploymentReader = {
    describeWorkerDeployment: (request) => soon(() => workflowService.describeWorkerDeployment(request)),
    describeWorkerDeploymentVersion: (request) =>
      soon(() => workflowService.describeWorkerDeploymentVersion(request)),
  };
  await watchVersion({ version, server, service, taskQueues, logger, signal });
}

interface WatchedWorkers {
  readonly connection: NativeConnection;
  readonly taskQueues: readonly string[];
  readonly signal: AbortSignal;
}

interface WorkerSpec {
  readonly queue: RoleQueue;
  readonly options: RunWorkersOptions;
  readonly connection: NativeConnection;
}

async function createWorker({ queue, options, connection }: WorkerSpec): Promise<Worker> {
  return Worker.create({
    connection,
    namespace: options.connection.namespace,
    taskQueue: queue.taskQueue,
    activities: queue.activities,
    interceptors: {
      activity: [
        (context) => ({ inbound: new DomainFailureInterceptor(context) }),
        (context) => ({ inbound: new SetBackInterceptor(context) }),
      ],
    },
    maxConcurrentActivityTaskExecutions: queue.places,
    // The longest pause between heartbeats that reach the server: a dead worker is noticed within three seconds.
    maxHeartbeatThrottleInterval: '1 second',
    shutdownGraceTime: GRACE,
    ...versioningOptions(options.version),
    ...(queue.taskQueue === TASK_QUEUES.workflows && (await workflowOptions(options))),
  });
}

/** Built ahead in a release and beside it; from sources it is bundled here. */
async function workflowOptions({
  workflowBundle: codePath = join(__dirname, '..', 'workflow-bundle.js'),
}: RunWorkersOptions): Promise<Pick<WorkerOptions, 'workflowBundle' | 'stickyQueueScheduleToStartTimeout'>> {
  const workflowBundle = existsSync(codePath) ? { codePath } : await bundleWorkflows();
  // A killed worker's runs wait this long for it before another worker gets them.
  return { workflowBundle, stickyQueueScheduleToStartTimeout: '1 second' };
}

function bundleWorkflows(): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows'),
    payloadConverterPath: require.resolve('../workflows/payload-converter'),
    workflowInterceptorModules: [require.resolve('../workflows/interceptors')],
  });
}

function parseRoles(names: readonly string[]): WorkerRole[] {
  const known = Object.keys(TASK_QUEUES).filter(isRole);
  if (names.length === 0) return known;
  return names.map((name) => {
    if (isRole(name)) return name;
    throw new DomainError('bad-config', `--roles: unknown role "${name}". Known: ${known.join(', ')}.`);
  });
}

function isRole(name: string): name is WorkerRole {
  return Object.hasOwn(TASK_QUEUES, name);
}
