import type { FastifyInstance } from 'fastify';
import { ProtocolError } from '../protocol-error';

const ACCOUNTS = 'This engine serves one machine and knows no accounts, projects or bills.';
const NOT_ANNOUNCED = 'Clients do so only where client/config says that they may, and this engine does not.';

/** Requests that official clients can make and that mean nothing here: refused with the reason, rather than not found. */
const REFUSED: readonly (readonly ['GET' | 'POST' | 'PUT' | 'DELETE', string, string])[] = [
  ['POST', '/auth/token', `${NOT_ANNOUNCED} Any key is good here.`],
  ['GET', '/auth/apikey/me', ACCOUNTS],
  ['DELETE', '/auth/apikey/me', ACCOUNTS],
  ['GET', '/audit', ACCOUNTS],
  ['GET', '/billing/usage/events', ACCOUNTS],
  ['GET', '/billing/usage/checkpoints/current', `${ACCOUNTS} GET checkpoints has size_bytes of each.`],
  ['PUT', '/sessions/:id/project', ACCOUNTS],
  [
    'POST',
    '/sessions/search',
    'This engine keeps no sessions that have ended. GET sessions has those that are open.',
  ],
  ['GET', '/sessions/:id/trace_export', 'This engine records no traces. GET /metrics has its counters.'],
  ['POST', '/create_custom_loss', `${NOT_ANNOUNCED} They compute the loss themselves.`],
  ['POST', '/join_sampling_session', `${NOT_ANNOUNCED} Give each request of a session its own seq_id.`],
  ['POST', '/retrieve_futures', `${NOT_ANNOUNCED} Ask retrieve_future for each.`],
];

export function addRefusedRoutes(app: FastifyInstance): void {
  for (const [method, url, reason] of REFUSED) {
    app.route({
      method,
      url,
      handler: () => {
        throw new ProtocolError(400, reason);
      },
    });
  }
}
