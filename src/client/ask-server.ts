import type { Client } from '@temporalio/client';
import type { TemporalAddress } from '../config/temporal-connection';
import { statusQuery } from '../workflows/contracts';
import { remedyForRun } from './find-pollers';
import type { RunEvidence } from './run-report';
import { describeRun, failureOf, queryRun } from './workflow-answers';

type HeardOfRun = Pick<RunEvidence, 'facts' | 'live' | 'failure' | 'workerRemedy'>;

/** Where no server is there. */
export const UNHEARD: HeardOfRun = { facts: null, live: null };

/** What a run's workflow and the server say of it, and where they leave something open, why. */
export async function askServer(
  client: Client,
  run: string,
  target: TemporalAddress | null,
): Promise<HeardOfRun> {
  const [facts, live] = await Promise.all([describeRun(client, run), queryRun(client, run, statusQuery)]);
  if (facts === null || facts === 'missing') return { facts, live, failure: null, workerRemedy: null };
  return {
    facts,
    live,
    failure: facts.status === 'failed' ? await failureOf(client, run) : null,
    workerRemedy: facts.isOpen && live === null && target ? await remedyForRun(client, target) : null,
  };
}
