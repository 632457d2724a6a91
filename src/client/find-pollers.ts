import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { TemporalAddress } from '../config/temporal-connection';
import type { WorkerVersion } from '../config/worker-version';
import { makeCurrentCommand } from '../config/worker-version';
import { largestOf } from '../core/extremes';
import { TASK_QUEUES } from '../core/task-queues';
import { ANSWER_LIMIT_MS } from './workflow-answers';

const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = temporal.api.enums.v1.TaskQueueType;

/** Queues a training run needs. */
const NEEDED = [
  { name: TASK_QUEUES.workflows, taskQueueType: TASK_QUEUE_TYPE_WORKFLOW },
  { name: TASK_QUEUES.workflows, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY },
  { name: TASK_QUEUES.training, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY },
  { name: TASK_QUEUES.sampling, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY },
];

/** A queue where what a run puts there stays. */
interface UnservedQueue {
  readonly name: string;
  /** A version whose workers poll it in vain, because it is not current; null where no worker polls it. */
  readonly idle: WorkerVersion | null;
}

type QueueDescription = Pick<
  temporal.api.workflowservice.v1.IDescribeTaskQueueResponse,
  'pollers' | 'versioningInfo'
>;

/** What a person has to do so that runs go on; null where there are workers for every queue, or the server does not say. */
export async function adviseOnWorkers(client: Client, server: TemporalAddress): Promise<string | null> {
  return adviceFor(await findUnservedQueues(client), server);
}

/** The same for a run that nobody answers for. */
export async function remedyForRun(client: Client, server: TemporalAddress): Promise<string | null> {
  const unserved = await findUnservedQueues(client);
  const idle = unserved.find((queue) => queue.idle !== null)?.idle;
  if (idle) return idleRemedy(idle, server);
  return unserved.length === 0 ? busyRemedy(await lastPolledMs(client)) : null;
}

/** The server names pollers for minutes after they are gone; one that is there polls again within a minute. */
const POLLING_MS = 70_000;

/** `polledMs`: since the last one polled; null where that is not known. */
function busyRemedy(polledMs: number | null): string | null {
  if (polledMs === null || polledMs > POLLING_MS) return null;
  return `One polled ${Math.max(0, Math.round(polledMs / 1000))} s ago and may only be busy; if it is gone, start one with \`npx everstep worker\`.`;
}

async function lastPolledMs(client: Client): Promise<number | null> {
  const [queue] = NEEDED;
  const description = queue && (await describe(client, queue).catch(() => null));
  const times = (description?.pollers ?? []).flatMap(({ lastAccessTime: time }) =>
    time?.seconds == null ? [] : [Number(time.seconds) * 1000],
  );
  return times.length === 0 ? null : Date.now() - largestOf(times);
}

function describe(client: Client, { name, taskQueueType }: (typeof NEEDED)[number]) {
  const { namespace } = client.options;
  return client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
    client.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
  );
}

async function findUnservedQueues(client: Client): Promise<UnservedQueue[]> {
  const checks = NEEDED.map(async (queue) => {
    try {
      return unservedPart(queue.name, await describe(client, queue));
    } catch {
      return [];
    }
  });
  const found = (await Promise.all(checks)).flat();
  return found.filter((queue, index) => found.findIndex(({ name }) => name === queue.name) === index);
}

/** The server hands work to the current version, and a share of it to one that is ramping; without either, to workers without a version. */
function unservedPart(name: string, { pollers, versioningInfo }: QueueDescription): UnservedQueue[] {
  const versions = (pollers ?? []).map(({ deploymentOptions }) => versionOf(deploymentOptions));
  const current = versionOf(versioningInfo?.currentDeploymentVersion);
  const isServed = versions.some((version) => isSame(version, current));
  return isServed ? [] : [{ name, idle: versions.find((version) => version !== null) ?? null }];
}

function versionOf(
  version: { deploymentName?: string | null; buildId?: string | null } | null | undefined,
): WorkerVersion | null {
  const { deploymentName, buildId } = version ?? {};
  return deploymentName && buildId ? { deploymentName, buildId } : null;
}

function isSame(one: WorkerVersion | null, other: WorkerVersion | null): boolean {
  return one?.deploymentName === other?.deploymentName && one?.buildId === other?.buildId;
}

function adviceFor(queues: readonly UnservedQueue[], server: TemporalAddress): string | null {
  if (queues.length === 0) return null;
  const place = `on ${server.address} (namespace ${server.namespace})`;
  const names = queues.map(({ name }) => name).join(', ');
  const idle = queues.find((queue) => queue.idle !== null)?.idle;
  return idle
    ? `No worker takes work from ${names} ${place}: the run waits until one does. ${idleRemedy(idle, server)}`
    : `No worker polls ${names} ${place}: the run waits until one does. Start \`npx everstep worker\` there.`;
}

function idleRemedy(version: WorkerVersion, server: TemporalAddress): string {
  return (
    `Workers of version ${version.buildId} of deployment ${version.deploymentName} are there, and it is not current. ` +
    `To make it current: ${makeCurrentCommand(version, server)}`
  );
}
