import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fastify, { errorCodes } from 'fastify';
import type { Logger } from 'pino';
import { BodyTurns } from '../../core/concurrency/body-turns';
import type { Steps } from '../../core/concurrency/steps';
import { keepRoom, leaveWith } from '../../core/connection-room';
import { NO_PAGE } from '../../core/page-guard';
import { parseRequestJson } from '../../core/request-json';
import { lastAnswer, unreadableRequest } from '../../core/unreadable-request';
import { checkBodySize } from './body-size';
import { failureOf } from './error-body';
import type { GuardOptions } from './guard';
import { guard } from './guard';
import { RequestError } from './request-error';

const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;
/** Nobody has shown a token before the headers are there: whoever sends half of them holds a connection no longer than this. */
const HEADERS_TIMEOUT_MS = 5000;
const CONNECTIONS_CHECK_MS = 1000;
const MOST_CONNECTIONS = 4096;

/** An HTTP server without routes: its limits, who may ask, and how errors are told. */
export function createApp(
  guarding: GuardOptions,
  logger: Logger,
  headersTimeoutMs = HEADERS_TIMEOUT_MS,
): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    // Until a request has arrived whole; answers may take as long as models do.
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: CONNECTIONS_CHECK_MS },
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500 },
    // What the router itself refuses: an address that cannot be decoded.
    frameworkErrors: (error, _request, { raw }) => {
      const { status, body } = failureOf(error);
      raw.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
    },
    clientErrorHandler: ({ code }, socket) => {
      leaveWith(socket, lastAnswer(code, unreadable(code)));
    },
  });
  keepRoom(app.server, MOST_CONNECTIONS);
  readJsonAlone(app);
  app.addHook('onRequest', async (_request, reply) => {
    void reply.headers(NO_PAGE);
  });
  answerErrors(app, logger);
  guard(app, guarding);
  return app;
}

function unreadable(code: string): object {
  const { status, message } = unreadableRequest(code);
  return failureOf(new RequestError(status, { message })).body;
}

/** A form of another site's page can send any other content type without asking first. */
function readJsonAlone(app: FastifyInstance): void {
  app.removeContentTypeParser(['application/json', 'text/plain']);
  const turns = new BodyTurns();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => {
      // Read all the same, a model would be asked something else than was sent.
      if (!isUtf8(bytes)) throw new RequestError(400, { message: 'The body is not UTF-8 text.' });
      const text = bytes.toString();
      return turns.read({ length: text.length, steps: () => readJson(text) });
    },
  );
}

function* readJson(text: string): Steps<unknown> {
  if (text === '') throw new errorCodes.FST_ERR_CTP_EMPTY_JSON_BODY();
  yield* checkBodySize(text);
  const value = yield* parseRequestJson(text);
  if (value === undefined) throw new errorCodes.FST_ERR_CTP_INVALID_JSON_BODY();
  return value;
}

function answerErrors(app: FastifyInstance, logger: Logger): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, body, retryAfterSeconds, isUnexpected } = failureOf(error);
    // Addresses hold names of runs and no secrets: tokens come in a header alone.
    if (isUnexpected && !reply.raw.destroyed)
      logger.error({ err: error, url: request.url }, 'request failed');
    if (retryAfterSeconds !== null) void reply.header('retry-after', String(retryAfterSeconds));
    void reply.code(status).send(body);
  });
}
