import { DomainError } from '../core/errors';
import type { RunStatus } from '../core/run';
import { asSentence } from '../core/sentences';
import type { Facts } from '../core/visibility-query';
import { parseVisibilityQuery, requireWholeQuery } from '../core/visibility-query';
import type { RunSummary } from './run-summary';
import { searchRuns } from './runs-on-server';
import { serverWords } from './server-words';
import type { ServerLink } from './server-link';

/** A query, and who answers it. */
export interface RunCondition {
  readonly answeredBy: 'server' | 'store';
  /** The runs it holds of, where the server said so; null where each run is looked at. */
  readonly names: ReadonlySet<string> | null;
  readonly holds: (summary: RunSummary, workflowId: string) => boolean;
  readonly needsScores: boolean;
  readonly note: string | null;
}

const NAMES = [
  'EverstepKind',
  'EverstepRun',
  'EverstepModel',
  'EverstepStatus',
  'EverstepStep',
  'EverstepScore',
  'ExecutionStatus',
  'StartTime',
  'CloseTime',
  'WorkflowId',
];
const ALL: RunCondition = {
  answeredBy: 'store',
  names: null,
  holds: () => true,
  needsScores: false,
  note: null,
};
/** gRPC's number of what the server says of a query it cannot read, or of attributes it does not know. */
const INVALID = 3;

/** The server answers a query where it can; else the same is asked of the store, and said so. */
export async function chooseCondition(link: ServerLink, where: string | undefined): Promise<RunCondition> {
  if (where === undefined) return ALL;
  if (where.trim() === '')
    throw new DomainError('bad-config', '--where is empty. Leave it out for all runs.');
  requireWholeQuery(where);
  const client = await link.find();
  if (!client) {
    return fromStore(
      where,
      'No Temporal server answers: --where was asked of the store, as it last saw each run.',
    );
  }
  try {
    return { ...ALL, answeredBy: 'server', names: await searchRuns(client, where) };
  } catch (error) {
    return answerInstead(where, error);
  }
}

/** A query that the store cannot read either is one nobody can: the server's words say why. */
function answerInstead(where: string, error: unknown): RunCondition {
  const { code, text: words } = serverWords(error);
  const note = `The Temporal server did not answer --where (${words}): it was asked of the store. \`npx everstep setup\` adds what a server lacks.`;
  try {
    return fromStore(where, note);
  } catch (refusal) {
    if (code !== INVALID) throw refusal;
    throw new DomainError(
      'bad-config',
      `--where ${JSON.stringify(where.slice(0, 120))}: the Temporal server refuses it: ${asSentence(words)} Write e.g. EverstepKind = "sft" AND EverstepScore > 0.5.`,
      { cause: error },
    );
  }
}

function fromStore(where: string, note: string): RunCondition {
  const condition = parseVisibilityQuery(where, NAMES);
  return {
    answeredBy: 'store',
    names: null,
    holds: (summary, workflowId) => condition(factsOf(summary, workflowId)),
    needsScores: /EverstepScore/.test(where),
    note,
  };
}

const EXECUTION: Readonly<Record<RunStatus, string>> = {
  running: 'Running',
  paused: 'Running',
  waiting: 'Running',
  completed: 'Completed',
  stopped: 'Completed',
  cancelled: 'Canceled',
  failed: 'Failed',
};

function factsOf(summary: RunSummary, workflowId: string): Facts {
  return {
    EverstepKind: summary.kind,
    EverstepRun: summary.run,
    EverstepModel: summary.model,
    EverstepStatus: summary.status,
    EverstepStep: summary.step,
    EverstepScore: summary.score?.value ?? null,
    ExecutionStatus: EXECUTION[summary.status],
    StartTime: summary.startedAt,
    CloseTime: summary.closedAt,
    WorkflowId: workflowId,
  };
}
