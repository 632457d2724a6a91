import type { Client, WorkflowExecutionInfo, WorkflowHandle } from '@temporalio/client';
import { Connection, Client as TemporalClient } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';
import { DEFAULT_NAMESPACE } from '../../src/config/temporal-connection';
import { sleep } from './service';
import type { Site } from './site';

export interface Leftovers {
  readonly violations: readonly string[];
  /** Models still in memory although their run is over. */
  readonly orphans: number;
  /** Attempts to open a model beyond the first of each opening; each may leave one to its session's end. */
  readonly repeatedOpenings: number;
}

interface HistoryFacts {
  readonly repeatedOpenings: number;
  readonly violations: readonly string[];
}

/** The listing of workflows lags behind their end. */
const VISIBILITY_LIMIT_MS = 20_000;
const POLL_MS = 250;
/** PENDING_ACTIVITY_STATE_CANCEL_REQUESTED */
const CANCEL_REQUESTED = 3;

/** What a finished run must not leave behind: workflows, activities, models. */
export async function findLeftovers(site: Pick<Site, 'address' | 'engineUrl'>): Promise<Leftovers> {
  const connection = await Connection.connect({ address: site.address });
  try {
    const client = new TemporalClient({ connection, namespace: DEFAULT_NAMESPACE });
    const workflows = await untilClosed(client);
    const open = workflows.filter(({ status }) => status.name === 'RUNNING');
    const bad = workflows.filter(
      ({ status }) => !['RUNNING', 'COMPLETED', 'CONTINUED_AS_NEW'].includes(status.name),
    );
    const facts = await Promise.all(
      workflows.map(({ workflowId, runId }) => readHistory(client, { workflowId, runId })),
    );
    const orphans = await countModels(site.engineUrl);
    const repeatedOpenings = facts.reduce((sum, fact) => sum + fact.repeatedOpenings, 0);
    return {
      orphans,
      repeatedOpenings,
      violations: [
        ...open.map(({ workflowId }) => `workflow ${workflowId} still runs`),
        ...bad.map(({ workflowId, status }) => `workflow ${workflowId} ended as ${status.name}`),
        ...facts.flatMap(({ violations }) => violations),
        ...(orphans > repeatedOpenings
          ? [`${orphans} models left in the engine, ${repeatedOpenings} explained`]
          : []),
      ],
    };
  } finally {
    await connection.close();
  }
}

/** What the workflows under way wait for, for the report of a run that does not end. */
export async function describeOpenWork(site: Site): Promise<string[]> {
  const connection = await Connection.connect({ address: site.address });
  try {
    const client = new TemporalClient({ connection, namespace: DEFAULT_NAMESPACE });
    const lines: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query: "ExecutionStatus = 'Running'" })) {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      lines.push(
        `${workflowId} runs`,
        ...(raw.pendingActivities ?? []).map((activity) => describeActivity(activity)),
      );
    }
    return lines;
  } finally {
    await connection.close();
  }
}

function describeActivity({
  activityType,
  attempt,
  lastWorkerIdentity,
  lastStartedTime,
}: PendingActivity): string {
  const startedAt = new Date(tsToMs(lastStartedTime)).toISOString();
  return `${activityType?.name ?? ''} attempt ${attempt ?? 0} with ${lastWorkerIdentity ?? 'nobody'} since ${startedAt}`;
}

async function untilClosed(client: Client): Promise<WorkflowExecutionInfo[]> {
  const deadline = performance.now() + VISIBILITY_LIMIT_MS;
  for (;;) {
    const workflows: WorkflowExecutionInfo[] = [];
    for await (const workflow of client.workflow.list()) workflows.push(workflow);
    const isClosed = workflows.length > 0 && workflows.every(({ status }) => status.name !== 'RUNNING');
    if (isClosed || performance.now() > deadline) return workflows;
    await sleep(POLL_MS);
  }
}

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

async function readHistory(client: Client, { workflowId, runId }: Execution): Promise<HistoryFacts> {
  const handle = client.workflow.getHandle(workflowId, runId);
  const { raw, status } = await handle.describe();
  // A closed execution keeps showing its session keeper, which it cancelled or left to the next one; the keeper's
  // worker hears of it by heartbeat.
  const pending = (raw.pendingActivities ?? []).filter(
    ({ state, activityType }) =>
      Number(state) !== CANCEL_REQUESTED &&
      !(status.name === 'CONTINUED_AS_NEW' && activityType?.name === 'keepSession'),
  );
  const violations = pending.map(
    ({ activityType }) => `${workflowId}: activity ${activityType?.name ?? ''} is pending`,
  );
  const { events } = await handle.fetchHistory();
  return {
    repeatedOpenings: countRepeatedOpenings(events ?? []),
    violations: [...violations, ...findFailedTasks(workflowId, events ?? [])],
  };
}

type PendingActivity = NonNullable<
  Awaited<ReturnType<WorkflowHandle['describe']>>['raw']['pendingActivities']
>[number];
type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

function countRepeatedOpenings(events: readonly HistoryEvent[]): number {
  const openings = events
    .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'openModel')
    .map(({ eventId }) => String(eventId));
  return events
    .flatMap(({ activityTaskStartedEventAttributes: started }) => (started ? [started] : []))
    .filter(({ scheduledEventId }) => openings.includes(String(scheduledEventId)))
    .reduce((sum, { attempt }) => sum + (attempt ?? 1) - 1, 0);
}

/**
 * A workflow whose code does not fit its history fails its task and tries again for ever. A task that lost against an
 * event which came in meanwhile is no failure of the code: the server asks again.
 */
function findFailedTasks(workflowId: string, events: readonly HistoryEvent[]): string[] {
  return events
    .flatMap(({ workflowTaskFailedEventAttributes: failed }) => (failed?.failure ? [failed.failure] : []))
    .filter(({ message }) => message !== 'UnhandledCommand')
    .map(({ message }) => `${workflowId}: a workflow task failed: ${message ?? ''}`);
}

/** The protocol lists runs, whether their model is in memory or not; asking about a model tells. */
async function countModels(engineUrl: string): Promise<number> {
  const listed = await fetch(`${engineUrl}/api/v1/training_runs?limit=100`);
  const { training_runs: runs } = (await listed.json()) as { training_runs: { training_run_id: string }[] };
  const answers = await Promise.all(
    runs.map(({ training_run_id: id }) =>
      fetch(`${engineUrl}/api/v1/get_info`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model_id: id }),
      }),
    ),
  );
  return answers.filter(({ ok }) => ok).length;
}
