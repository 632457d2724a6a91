import type { Client } from '@temporalio/client';
import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { UpdateDefinition } from '@temporalio/common';
import type { ControlReceipt, ControlRequest } from '../core/controls';
import { DomainError } from '../core/errors';
import { serverWords } from './server-words';
import { workflowIdOf } from './workflow-answers';

/** A worker that is busy with a step of a minute hands over only after it. */
const ANSWER_LIMIT_MS = 90_000;
/** gRPC's number: the server changes nothing of a workflow whose last task failed. */
const FAILED_PRECONDITION = 9;
const MAX_REQUEST_BYTES = 64 * 1024;

export interface Change<Request extends ControlRequest, Answer = ControlReceipt> {
  readonly run: string;
  readonly update: UpdateDefinition<Answer, [Request]>;
  readonly request: Request;
  readonly limitMs?: number;
}

/** Has the running workflow make a change, and says what it comes to. A change that is refused changes nothing. */
export async function requestChange<Request extends ControlRequest, Answer>(
  client: Client,
  { run, update, request, limitMs = ANSWER_LIMIT_MS }: Change<Request, Answer>,
): Promise<Answer> {
  requireSmall(request);
  try {
    return await client.withDeadline(Date.now() + limitMs, () =>
      client.workflow
        .getHandle(workflowIdOf(run))
        .executeUpdate<Answer, [Request]>(update, { args: [request] }),
    );
  } catch (error) {
    throw explain(error, { run, limitMs });
  }
}

function requireSmall(request: ControlRequest): void {
  const bytes = Buffer.byteLength(JSON.stringify(request));
  if (bytes <= MAX_REQUEST_BYTES) return;
  throw new DomainError(
    'bad-config',
    `The change has ${bytes} bytes; at most ${MAX_REQUEST_BYTES} are taken. Shorten what it lists.`,
  );
}

function explain(
  error: unknown,
  { run, limitMs }: { readonly run: string; readonly limitMs: number },
): unknown {
  if (error instanceof WorkflowUpdateFailedError) {
    const { cause } = error;
    const reason =
      cause instanceof ApplicationFailure || cause instanceof Error ? cause.message : error.message;
    return new DomainError('refused', `Run "${run}" was not changed. ${reason}`, { cause: error });
  }
  if (error instanceof WorkflowNotFoundError) {
    return new DomainError(
      'refused',
      `Run "${run}" is not under way on this server: there is nothing to change.`,
      { cause: error },
    );
  }
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new DomainError(
      'unreachable',
      `No worker answered for run "${run}" within ${limitMs / 1000} s; the change may still be made when one does. Start one with \`npx everstep worker\`, then look at \`npx everstep runs show ${run}\`.`,
      { cause: error },
    );
  }
  if (serverWords(error).code === FAILED_PRECONDITION) {
    return new DomainError(
      'unreachable',
      `Run "${run}" was not changed: the worker that carries it has just failed and is not back yet. Ask again in a moment; \`npx everstep doctor\` says whether one is there.`,
      { cause: error },
    );
  }
  return error;
}
