import type { FastifyReply, FastifyRequest } from 'fastify';
import type { StrictMode } from './strict-mode';

/** Asked with the key itself: what a client needs before it has a token. */
const WITH_KEY = ['client/config', 'auth/token'];
/** Says nothing about anybody. */
const WITH_NOTHING = ['healthz'];

/** Refuses who does not show what the route asks for. True where the request was answered. */
export function refuseStranger(
  strict: StrictMode,
  route: string,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): boolean {
  if (WITH_NOTHING.includes(route)) return false;
  const shown = request.headers['x-api-key'];
  const credential = typeof shown === 'string' ? shown : '';
  if (credential === '') return refuse(reply, 'No API key was given: send it as X-API-Key.');
  if (WITH_KEY.includes(route))
    return strict.takes(credential) ? false : refuse(reply, 'This API key is not valid.');
  if (strict.tokens.isGood(credential, strict.now())) return false;
  return refuseToken(reply);
}

export function refuseToken(reply: FastifyReply): true {
  void reply.header('www-authenticate', 'Bearer error="invalid_token"');
  return refuse(reply, 'The token is not valid (any more). Exchange the API key for another one.');
}

function refuse(reply: FastifyReply, detail: string): true {
  void reply.code(401).send({ detail });
  return true;
}
