import type { Socket } from 'node:net';
import type { ConnectionError, FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import fastify, { errorCodes } from 'fastify';
import type { Steps } from '../../../core/concurrency/steps';
import { keepRoom, leaveWith } from '../../../core/connection-room';
import { DomainError } from '../../../core/errors';
import { isCalledByKnownName, isFromOtherSite, NO_PAGE } from '../../../core/page-guard';
import { parseRequestJson } from '../../../core/request-json';
import { lastAnswer, unreadableRequest } from '../../../core/unreadable-request';
import type { EngineService } from './engine-service';
import { ProtocolError } from './protocol-error';
import type { ClientKey } from './client-key';
import { BODY_LIMIT_BYTES, checkJsonParts, limitBodies } from './request-limits';
import { addAppliedStepsRoute } from './routes/applied-steps';
import { addBootstrapRoutes } from './routes/bootstrap';
import { addCheckpointRoutes } from './routes/checkpoints';
import { addCopyRoute } from './routes/copies';
import { addExternalWeightsRoutes } from './routes/external-weights';
import { addFutureRoutes } from './routes/futures';
import { addRefusedRoutes } from './routes/refused';
import { addSamplingRoutes } from './routes/sampling';
import { addSessionRoutes } from './routes/sessions';
import { addTrainingRoutes } from './routes/training';
import { addTrainingRunRoutes } from './routes/training-runs';
import { addStrictHooks } from './strict/strict-hooks';
import type { StrictMode } from './strict/strict-mode';
import { addStrictBootstrapRoutes, addStrictWeightsRoutes } from './strict/strict-routes';

const MOST_CONNECTIONS = 4096;
const LONGEST_DETAIL = 1000;

interface AppOptions {
  readonly strict?: StrictMode | null | undefined;
  /** Names with dots that the engine may be called by. */
  readonly hosts?: readonly string[] | undefined;
  /** Asked of every client; without it any key passes. */
  readonly clientKey?: ClientKey | undefined;
}

/** The protocol over HTTP, in the strict ways of the official service where asked for. Whatever goes wrong is answered as `{"detail": "…"}`. */
export function createApp(
  service: EngineService,
  { strict = null, hosts, clientKey }: AppOptions = {},
): FastifyInstance {
  const bodyLimit = strict?.limits.bodyBytes ?? BODY_LIMIT_BYTES;
  const { requestTimeoutMs } = service;
  const app = fastify({
    bodyLimit,
    // Sockets are for those who send something: half a request holds one, and its body, no longer than this.
    requestTimeout: requestTimeoutMs,
    http: {
      headersTimeout: Math.min(requestTimeoutMs, 60_000),
      connectionsCheckingInterval: Math.min(requestTimeoutMs / 2, 15_000),
    },
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500 },
    // What the router itself refuses: an address that cannot be decoded or a part of it that is too long.
    frameworkErrors: (error, _request, { raw }) => {
      const body = JSON.stringify({ detail: error.message.slice(0, 300) });
      raw.writeHead(error.statusCode ?? 400, { 'content-type': 'application/json' }).end(body);
    },
    clientErrorHandler: refuseConnection,
  });
  keepRoom(app.server, MOST_CONNECTIONS);
  guard(app, service, { hosts, clientKey });
  limitBodies(app, bodyLimit);
  readBodies(app, service);
  answerErrors(app, service);
  app.addHook('onRequest', async (request) => {
    if (request.url.startsWith('/api/')) service.context.counters.requests++;
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw new ProtocolError(
        415,
        `Content-Encoding "${encoding}" is not supported. Send the body as it is.`,
      );
  });
  app.get('/metrics', (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(service.context.counters.render()),
  );
  app.get('/healthz', () => ({ status: 'ok' }));
  if (!strict) addAppliedStepsRoute(app, service);
  app.register(
    async (api) => {
      if (strict) addStrict({ app, api }, service, strict);
      else {
        addBootstrapRoutes(api, service);
        addExternalWeightsRoutes(api, service, clientKey);
        addRefusedRoutes(api);
      }
      addSessionRoutes(api, service);
      addTrainingRoutes(api, service);
      addSamplingRoutes(api, service);
      addFutureRoutes(api, service);
      addCheckpointRoutes(api, service, clientKey);
      addCopyRoute(api, service);
      addTrainingRunRoutes(api, service);
    },
    { prefix: '/api/v1' },
  );
  return app;
}

/** Before anything else is looked at. */
function guard(app: FastifyInstance, service: EngineService, { hosts = [], clientKey }: AppOptions): void {
  keepPagesOut(app, hosts);
  if (clientKey) requireKey(app, clientKey, service);
}

/** Clients of the protocol show whatever key they have, so pages are known by what their browser says of them. */
function keepPagesOut(app: FastifyInstance, hosts: readonly string[]): void {
  const names = new Set(hosts.map((host) => host.toLowerCase()));
  app.addHook('onRequest', ({ headers }, reply, done) => {
    void reply.headers(NO_PAGE);
    if (isFromOtherSite(headers))
      throw new ProtocolError(403, 'Pages of other sites may not ask this engine.');
    if (!isCalledByKnownName(headers, names))
      throw new ProtocolError(
        403,
        'This engine is not known by that name. Call it by its address, or start it with --allow-host NAME.',
      );
    done();
  });
}

/** Of everything but whether the engine is there, and links that were signed for somebody. */
function requireKey(app: FastifyInstance, clientKey: ClientKey, { context }: EngineService): void {
  app.addHook('onRequest', ({ headers, url, method }, _reply, done) => {
    const isOpen =
      /^\/(api\/v1\/)?healthz$/.test(url) || (method === 'GET' && clientKey.isSigned(url, context.now()));
    if (!isOpen && !clientKey.isShownIn(headers))
      throw new ProtocolError(
        401,
        'This engine asks for its key: set TINKER_API_KEY to what its --token-file holds.',
      );
    done();
  });
}

function addStrict(
  scopes: { readonly app: FastifyInstance; readonly api: FastifyInstance },
  service: EngineService,
  strict: StrictMode,
): void {
  addStrictHooks(scopes.api, service, strict);
  addStrictBootstrapRoutes(scopes.api, service, strict);
  addStrictWeightsRoutes(scopes, service);
}

function readBodies(app: FastifyInstance, { bodies }: EngineService): void {
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (request: FastifyRequest, text: string) => {
      return bodies.read({ length: text.length, steps: () => readJson(text, request.routeOptions.url) });
    },
  );
}

/** Clients name a content type also where there is nothing to send. */
function* readJson(text: string, url: string | undefined): Steps<unknown> {
  if (text === '') return {};
  yield* checkJsonParts(text, url);
  const value = yield* parseRequestJson(text);
  if (value === undefined) throw new errorCodes.FST_ERR_CTP_INVALID_JSON_BODY();
  return value;
}

function answerErrors(app: FastifyInstance, { context }: EngineService): void {
  app.setNotFoundHandler((request, reply) => {
    void reply.code(404).send({ detail: `Not Found: ${request.method} ${request.url.slice(0, 200)}` });
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = statusOf(error);
    if (status >= 500) context.logger.error({ err: error, url: request.url }, 'request failed');
    // A reason may quote what was sent.
    void reply.code(status).send({ detail: error.message.slice(0, LONGEST_DETAIL) });
  });
}

/** What is no HTTP, or headers that are too long: there is no request to answer yet, only a socket. */
function refuseConnection(error: ConnectionError, socket: Socket): void {
  leaveWith(socket, lastAnswer(error.code, { detail: unreadableRequest(error.code).message }));
}

function statusOf(error: FastifyError | ProtocolError | DomainError): number {
  if (error instanceof ProtocolError) return error.status;
  if (error instanceof DomainError) return error.code === 'checkpoint-missing' ? 404 : 400;
  return error.statusCode ?? 500;
}
