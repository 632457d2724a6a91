import type { FastifyError, FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { DomainError } from '../../../core/errors';
import type { EngineService } from './engine-service';
import { ProtocolError } from './protocol-error';
import { addBootstrapRoutes } from './routes/bootstrap';
import { addCheckpointRoutes } from './routes/checkpoints';
import { addFutureRoutes } from './routes/futures';
import { addSamplingRoutes } from './routes/sampling';
import { addTrainingRoutes } from './routes/training';
import { addTrainingRunRoutes } from './routes/training-runs';

const BODY_LIMIT_BYTES = 64 * 1024 * 1024;

/** The protocol over HTTP. Whatever goes wrong is answered as `{"detail": "…"}`. */
export function createApp(service: EngineService): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500 },
  });
  readBodies(app);
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
  app.register(
    async (api) => {
      addBootstrapRoutes(api, service);
      addTrainingRoutes(api, service);
      addSamplingRoutes(api, service);
      addFutureRoutes(api, service);
      addCheckpointRoutes(api, service);
      addTrainingRunRoutes(api, service);
    },
    { prefix: '/api/v1' },
  );
  return app;
}

function readBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Clients name a content type also where there is nothing to send.
    if (body.length === 0) done(null, {});
    else void parseJson(request, body.toString(), done);
  });
  app.addContentTypeParser('application/x-protobuf', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
}

function answerErrors(app: FastifyInstance, { context }: EngineService): void {
  app.setNotFoundHandler((request, reply) => {
    void reply.code(404).send({ detail: `Not Found: ${request.method} ${request.url.slice(0, 200)}` });
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = statusOf(error);
    if (status >= 500) context.logger.error({ err: error, url: request.url }, 'request failed');
    void reply.code(status).send({ detail: error.message });
  });
}

function statusOf(error: FastifyError | ProtocolError | DomainError): number {
  if (error instanceof ProtocolError) return error.status;
  if (error instanceof DomainError) return error.code === 'checkpoint-missing' ? 404 : 400;
  return error.statusCode ?? 500;
}
