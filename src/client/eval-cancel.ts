import { WorkflowNotFoundError } from '@temporalio/client';
import { DomainError } from '../core/errors';
import type { WorkflowUnderWay } from './eval-list';
import { listUnderWay } from './eval-list';
import { awaitWorkflow } from './eval-workflow';
import type { ServerLink } from './server-link';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';

export interface CancelOptions {
  /** Only these benchmarks or evaluators; default all that are under way. */
  readonly benchmarks?: readonly string[] | undefined;
  /** Stop waiting for the end; it is cancelled all the same. */
  readonly signal?: AbortSignal;
}

const OPTIONS: Known<CancelOptions> = { benchmarks: true, signal: true };

/** What was called off. */
export interface CancelledEval {
  readonly run: string;
  readonly benchmarks: readonly string[];
  /** Whether all of it has ended; a worker that is away ends its part when it is back. */
  readonly hasEnded: boolean;
}

/** Cancels what is under way of an eval run, and waits for its end. */
export async function cancelEval(
  link: ServerLink,
  run: string,
  options: CancelOptions,
): Promise<CancelledEval> {
  requireKnownOptions('evaluations.cancel', options, OPTIONS);
  const { benchmarks, signal } = options;
  const client = await link.require();
  const open = (await listUnderWay(client)).filter((each) => each.run === run);
  const chosen = open.filter(({ benchmark }) => benchmarks?.includes(benchmark) ?? true);
  if (chosen.length === 0) throw nothingUnderWay({ run, benchmarks, open });
  await Promise.all(
    chosen.map(({ workflowId }) =>
      client.workflow
        .getHandle(workflowId)
        .cancel()
        .catch((error: unknown) => {
          // It has ended by itself meanwhile.
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        }),
    ),
  );
  const outcomes = await Promise.all(
    chosen.map(({ workflowId, benchmark: name }) => awaitWorkflow(link, { workflowId, name }, signal)),
  );
  return {
    run,
    benchmarks: chosen.map(({ benchmark }) => benchmark).sort(),
    hasEnded: outcomes.every((outcome) => outcome !== null),
  };
}

interface Missed {
  readonly run: string;
  readonly benchmarks: readonly string[] | undefined;
  readonly open: readonly WorkflowUnderWay[];
}

export function nothingUnderWay({ run, benchmarks, open }: Missed): DomainError {
  const what = benchmarks === undefined ? 'nothing' : `no ${benchmarks.join(', ')}`;
  const others = open.map(({ benchmark }) => benchmark).join(', ');
  const remedy = others === '' ? 'List eval runs with: everstep results list.' : `Under way: ${others}.`;
  return new DomainError(
    'unknown-run',
    `Eval run "${run}" has ${what} under way, so there is nothing to cancel. ${remedy}`,
  );
}
