import type { Client } from '@temporalio/client';
import type { RunFilter } from './run-summary';
import type { RunSources } from './run-handle';
import { ANSWER_LIMIT_MS } from './workflow-answers';

const PREFIX = 'train/';
/** Earlier executions of a run that continued as new say how it stood then. */
const RUNS = `WorkflowId STARTS_WITH "${PREFIX}" AND ExecutionStatus != "ContinuedAsNew"`;
const UNSTORED = `${RUNS} AND ExecutionStatus != "Completed"`;
/** The server lists the newest first; older ones that left nothing behind are of no interest. */
const UNSTORED_LIMIT = 200;
/** Tens of thousands of runs are listed in pages; each page has to come within the usual time. */
const PAGES_LIMIT_MS = 30_000;

interface Wanted {
  /** Only these, where the server answered a query. */
  readonly names: ReadonlySet<string> | null;
  readonly filter: RunFilter;
}

/** Runs that left nothing in the store: being prepared, or ended while they were. */
export async function findUnstored({ link, records }: RunSources, { names }: Wanted): Promise<string[]> {
  const client = await link.find();
  if (!client) return [];
  const found: string[] = [];
  for (const run of names ?? (await openRuns(client))) {
    if (!(await records.readState(run).catch(() => null))) found.push(run);
  }
  return found;
}

async function openRuns(client: Client): Promise<ReadonlySet<string>> {
  try {
    return await runsWhere(client, UNSTORED, { limit: UNSTORED_LIMIT, limitMs: ANSWER_LIMIT_MS });
  } catch {
    // The store has all runs but those started in the last moment.
    return new Set();
  }
}

/** Names of the runs that a query holds of. Throws what the server says. */
export function searchRuns(client: Client, where: string): Promise<ReadonlySet<string>> {
  return runsWhere(client, `(${where}) AND ${RUNS}`, { limit: Infinity, limitMs: PAGES_LIMIT_MS });
}

async function runsWhere(
  client: Client,
  query: string,
  { limit, limitMs }: { readonly limit: number; readonly limitMs: number },
): Promise<Set<string>> {
  const runs = new Set<string>();
  await client.withDeadline(Date.now() + limitMs, async () => {
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) {
      if (workflowId.startsWith(PREFIX)) runs.add(workflowId.slice(PREFIX.length));
      if (runs.size >= limit) break;
    }
  });
  return runs;
}
