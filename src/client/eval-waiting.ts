import { listUnderWay } from './eval-list';
import { waitingReason } from './eval-workflow';
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
