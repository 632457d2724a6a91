import type { Client, WorkflowExecutionDescription } from '@temporalio/client';

/** Whoever follows a run asks each second; the list of a server changes more slowly. */
const LISTED_FOR_MS = 10_000;
const ANSWER_LIMIT_MS = 2000;

interface Listed {
  readonly at: number;
  readonly ids: Promise<readonly string[]>;
}

const lists = new WeakMap<Client, Map<string, Listed>>();

/** Workflows of a run's evaluations that are under way. They go on when the run continues in another execution, and beside one that has ended. */
export async function listOpenEvaluations(client: Client, run: string): Promise<string[]> {
  const prefix = `eval/${run}/`;
  const query = `ExecutionStatus = "Running" AND WorkflowId STARTS_WITH "${prefix}"`;
  return client.withDeadline(Date.now() + ANSWER_LIMIT_MS, async () => {
    const ids: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query }))
      if (workflowId.startsWith(prefix)) ids.push(workflowId);
    return ids;
  });
}

/** Those that the present execution began, and others as the server last listed them: of an execution before it, it knows nothing. */
export async function openEvaluations(
  client: Client,
  run: string,
  { raw }: Pick<WorkflowExecutionDescription, 'raw'>,
): Promise<string[]> {
  const own = (raw.pendingChildren ?? []).flatMap(({ workflowId }) => workflowId ?? []);
  const listed = await recentlyListed(client, run).catch(() => []);
  return [...new Set([...own, ...listed])];
}

function recentlyListed(client: Client, run: string): Promise<readonly string[]> {
  const known = lists.get(client) ?? new Map<string, Listed>();
  lists.set(client, known);
  const last = known.get(run);
  if (last && performance.now() - last.at < LISTED_FOR_MS) return last.ids;
  const ids = listOpenEvaluations(client, run);
  known.set(run, { at: performance.now(), ids });
  return ids;
}
