import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isCalledByKnownName, isFromOtherSite } from '../../core/page-guard';
import { RequestError } from './request-error';

export interface GuardOptions {
  /** Asked of every request; null where only this machine can ask. */
  readonly token: string | null;
  /** Names with dots that this server may be called by. */
  readonly hosts: readonly string[];
}

/** Says no more than that the server lives. */
const OPEN_PATH = '/healthz';

/**
 * Who may ask.
 *
 * Beyond the loopback interface a token is asked for. On it, a page in a browser of this machine must not get in: a name that
 * somebody else's DNS points here is refused by the Host header, another site's script by the Origin header, and a form
 * by the content type, since routes that change something take JSON alone.
 */
export function guard(app: FastifyInstance, { token, hosts }: GuardOptions): void {
  const isToken = token === null ? null : comparison(token);
  const known = new Set(hosts.map((host) => host.toLowerCase()));
  app.addHook('onRequest', async (request) => {
    refuseOtherOrigin(request);
    if (isToken === null) refuseOtherHost(request, known);
    else if (request.url.split('?', 1)[0] !== OPEN_PATH) requireToken(request, isToken);
    refuseEncoding(request);
  });
}

function requireToken({ headers }: FastifyRequest, isToken: (text: string) => boolean): void {
  const given = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  if (isToken(given)) return;
  throw new RequestError(401, {
    message:
      'This server asks for a token. Send it as "Authorization: Bearer TOKEN", with OpenAI clients as their API key.',
    code: 'invalid_api_key',
  });
}

/** Digests are of one length, so that neither length nor contents show in the time. */
function comparison(token: string): (text: string) => boolean {
  const expected = digest(token);
  return (text) => timingSafeEqual(digest(text), expected);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refuseOtherHost({ headers }: FastifyRequest, known: ReadonlySet<string>): void {
  if (isCalledByKnownName(headers, known)) return;
  throw new RequestError(403, {
    message: 'This server is not known by that name. Call it 127.0.0.1, or start it with --allow-host NAME.',
    code: 'unknown_host',
  });
}

function refuseOtherOrigin({ headers }: FastifyRequest): void {
  if (!isFromOtherSite(headers)) return;
  throw new RequestError(403, {
    message: 'Pages of other sites may not ask this server.',
    code: 'other_origin',
  });
}

function refuseEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return;
  throw new RequestError(415, { message: 'The body has to be sent as it is, without content encoding.' });
}
