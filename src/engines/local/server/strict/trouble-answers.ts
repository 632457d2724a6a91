import type { FastifyReply } from 'fastify';
import { refuseToken } from './authorize';
import type { StrictMode } from './strict-mode';
import type { Trouble } from './strike';

/** Answers with the trouble instead of the result. False where it strikes only after the work is done. */
export function answerTrouble(
  trouble: Trouble,
  strict: StrictMode,
  { reply, requestId }: { readonly reply: FastifyReply; readonly requestId: string },
): boolean {
  switch (trouble) {
    case 'answer-lost':
      return false;
    case 'token-revoked':
      strict.tokens.revokeAll();
      return refuseToken(reply);
    case 'paused':
      return say(reply, 408, {
        type: 'try_again',
        request_id: requestId,
        queue_state: 'paused_capacity',
        queue_state_reason: 'all accelerators are taken',
      });
    case 'promise-lost':
      return say(reply, 410, { detail: `Request "${requestId}" is not known (any more).` });
    case 'work-failed':
      return say(reply, 200, { error: 'The worker of this request was lost.', category: 'server' });
    case 'payment':
    case 'rate-limit':
    case 'busy':
    case 'server-error':
      return refuseForNow(trouble, strict, reply);
  }
}

function refuseForNow(
  trouble: 'payment' | 'rate-limit' | 'busy' | 'server-error',
  { retryAfterMs }: StrictMode,
  reply: FastifyReply,
): true {
  const soon = {
    'retry-after-ms': String(retryAfterMs),
    'retry-after': String(Math.ceil(retryAfterMs / 1000)),
  };
  switch (trouble) {
    case 'payment':
      return say(reply.headers(soon), 402, { detail: 'The balance of this account is used up.' });
    case 'rate-limit':
      return say(reply.headers(soon), 429, { detail: 'Too many requests.' });
    case 'busy':
      return say(reply.headers(soon), 408, { detail: 'The service is busy.' });
    case 'server-error':
      return say(reply, 500, { detail: 'Internal Server Error' });
  }
}

function say(reply: FastifyReply, status: number, body: object): true {
  void reply.code(status).send(body);
  return true;
}
