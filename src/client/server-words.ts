import { z } from 'zod';
import { withoutFullStop } from '../core/strip-ends';

/** What a call to the server failed with, out of what the SDK wraps it in. */
export interface ServerWords {
  /** gRPC's number; null where the failure is of another kind. */
  readonly code: number | null;
  /** Without a full stop, to stand in a sentence. */
  readonly text: string;
}

export function serverWords(error: unknown): ServerWords {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const { code, details, message } = Failure.safeParse(cause).data ?? {};
  return { code: code ?? null, text: withoutFullStop(details || message || String(cause)) };
}

/** Of whatever kind: what is of another type is as good as missing. */
const Failure = z.object({
  code: z.number().optional().catch(undefined),
  details: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
});
