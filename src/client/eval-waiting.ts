import { listUnderWay } from './eval-list';
import type { BenchmarkFailure } from './eval-workflow';
import { benchmarkWorkflowId, findFailure, waitingReason } from './eval-workflow';
import type { ServerLink } from './server-link';

/** A benchmark that is under way, and what keeps it waiting; null where nothing is known to. */
export interface WaitingBenchmark {
  readonly benchmark: string;
  readonly reason: string | null;
}

/** What is under way of an eval run; nothing where no server answers. */
export async function findWaiting(link: ServerLink, run: string): Promise<WaitingBenchmark[]> {
  const client = await link.find();
  if (!client) return [];
  const open = (await listUnderWay(client)).filter((each) => each.run === run);
  return Promise.all(
    open.map(async ({ benchmark, workflowId }) => ({
      benchmark,
      reason: await waitingReason(link, workflowId),
    })),
  );
}

/** Benchmarks and evaluators of an eval run that failed, or were called off, as the server knows it; nothing without one. */
export async function findFailures(
  link: ServerLink,
  run: string,
  benchmarks: readonly string[],
): Promise<BenchmarkFailure[]> {
  const found = await Promise.all(
    benchmarks.map((name) =>
      findFailure(link, { name, workflowId: benchmarkWorkflowId({ run, benchmark: name }) }),
    ),
  );
  return found.filter((failure) => failure !== null);
}
