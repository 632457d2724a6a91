import type { Client } from '@temporalio/client';
import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { UpdateDefinition } from '@temporalio/common';
import { z } from 'zod';
import type { ControlReceipt, ControlRequest, StopRequest } from '../core/controls';
import { MAX_REASON_LENGTH } from '../core/controls';
import { DomainError } from '../core/errors';
import { currentUser } from './provenance';
import { workflowIdOf } from './workflow-answers';

export interface ControlOptions {
  /** Why, for whoever reads the run's record later. */
  readonly reason?: string;
  /** Who asks; default this user on this host. */
  readonly by?: string;
}

export interface StopOptions extends ControlOptions {
  /** Last step to train; default the earliest that is not under way. */
  readonly atStep?: number;
}

/** A worker that is busy with a step of a minute hands over only after it. */
const ANSWER_LIMIT_MS = 90_000;

const Control = z.strictObject({
  by: z.string().min(1).max(200),
  reason: z.string().max(MAX_REASON_LENGTH),
});
const Stop = Control.extend({ atStep: z.int().min(1).nullable() });

export function controlRequest({ reason = '', by = currentUser() }: ControlOptions): ControlRequest {
  return parse(Control, { reason, by });
}

export function stopRequest({ atStep, ...options }: StopOptions): StopRequest {
  return parse(Stop, { ...controlRequest(options), atStep: atStep ?? null });
}

export interface Change<Request extends ControlRequest> {
  readonly run: string;
  readonly update: UpdateDefinition<ControlReceipt, [Request]>;
  readonly request: Request;
  readonly limitMs?: number;
}

/** Has the running workflow make a change, and says what it comes to. A change that is refused changes nothing. */
export async function requestChange<Request extends ControlRequest>(
  client: Client,
  { run, update, request, limitMs = ANSWER_LIMIT_MS }: Change<Request>,
): Promise<ControlReceipt> {
  try {
    return await client.withDeadline(Date.now() + limitMs, () =>
      client.workflow
        .getHandle(workflowIdOf(run))
        .executeUpdate<ControlReceipt, [Request]>(update, { args: [request] }),
    );
  } catch (error) {
    throw explain(error, { run, limitMs });
  }
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
    );
  }
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new DomainError(
      'unreachable',
      `No worker answered for run "${run}" within ${limitMs / 1000} s; the change may still be made when one does. Start one with \`npx everstep worker\`, then look at \`npx everstep runs show ${run}\`.`,
      { cause: error },
    );
  }
  return error;
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new DomainError('bad-config', `The change is not valid: ${problems.join('; ')}.`);
}
