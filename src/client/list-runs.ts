import type { Client } from '@temporalio/client';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import type { RunState, RunStatus } from '../core/run';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import { isClosed } from './run-report';
import { ANSWER_LIMIT_MS } from './workflow-answers';

/** A line of `runs list`. */
export type RunSummary = Pick<
  RunState,
  'run' | 'kind' | 'model' | 'status' | 'step' | 'totalSteps' | 'startedAt' | 'closedAt'
>;

export interface RunFilter {
  readonly status?: RunStatus;
  readonly kind?: string;
  readonly model?: string;
}

const CONCURRENT_QUESTIONS = 8;
const SERVER_RUNS =
  'WorkflowType = "trainSupervised" AND ExecutionStatus IN ("Running", "Failed", "Canceled", "Terminated", "TimedOut")';
/** The server lists the newest first; older ones that left nothing behind are of no interest. */
const SERVER_RUNS_LIMIT = 200;

/** Runs of the store, and those only the server knows: being prepared, or ended while they were; the newest first. */
export async function listRuns(sources: RunSources, filter: RunFilter = {}): Promise<RunSummary[]> {
  const stored = await sources.records.listRuns();
  const known = new Set(stored.map((state) => state.run));
  const client = await sources.link.find();
  const fresh = client ? (await serverRuns(client)).filter((run) => !known.has(run)) : [];

  const asked = [...stored.filter((state) => !isClosed(state)).map((state) => state.run), ...fresh];
  const reports = await mapWithLimit(asked, CONCURRENT_QUESTIONS, (run) =>
    new RunHandle(run, sources).find(),
  );
  const open = reports.filter((report) => report !== null);
  return [...stored.filter(isClosed), ...open]
    .map(summarize)
    .filter((summary) => matches(summary, filter))
    .sort(
      (left, right) => right.startedAt.localeCompare(left.startedAt) || left.run.localeCompare(right.run),
    );
}

async function serverRuns(client: Client): Promise<string[]> {
  const runs = new Set<string>();
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, async () => {
      for await (const { workflowId } of client.workflow.list({ query: SERVER_RUNS })) {
        if (workflowId.startsWith('train/')) runs.add(workflowId.slice('train/'.length));
        if (runs.size >= SERVER_RUNS_LIMIT) break;
      }
    });
  } catch {
    // The store has all runs but those started in the last moment.
  }
  return [...runs];
}

function summarize(state: RunState): RunSummary {
  const { run, kind, model, status, step, totalSteps, startedAt, closedAt } = state;
  return { run, kind, model, status, step, totalSteps, startedAt, closedAt };
}

function matches(summary: RunSummary, filter: RunFilter): boolean {
  return (
    (filter.status === undefined || filter.status === summary.status) &&
    (filter.kind === undefined || filter.kind === summary.kind) &&
    (filter.model === undefined || filter.model === summary.model)
  );
}
