import type { FastifyInstance } from 'fastify';
import { CreateSessionBody, FinishSessionBody, PageQuery, parseBody, SessionBody } from '../bodies';
import type { EngineService } from '../engine-service';

/** Clients say who they are, that they still are, and that they are done; who is there can be asked. */
export function addSessionRoutes(app: FastifyInstance, service: EngineService): void {
  const { context, models, sampling } = service;
  const { sessions } = context;
  app.post('/create_session', ({ body }) => {
    const { user_metadata: userMetadata } = parseBody(CreateSessionBody, body);
    return { session_id: sessions.open(context.elapsed(), userMetadata), type: 'create_session' };
  });
  app.post('/session_heartbeat', ({ body }) => {
    sessions.heartbeat(parseBody(SessionBody, body).session_id, context.elapsed());
    return { type: 'session_heartbeat' };
  });
  app.get('/sessions', ({ query }) => {
    const { limit, offset } = parseBody(PageQuery, query);
    return { sessions: sessions.list().slice(offset, offset + limit) };
  });
  app.get<{ Params: { id: string } }>('/sessions/:id', ({ params }) => ({
    training_run_ids: models
      .list()
      .filter(({ origin }) => origin.sessionId === params.id)
      .map(({ id }) => id),
    sampler_ids: sampling.sessions.idsOf(params.id),
    user_metadata: sessions.require(params.id).userMetadata,
  }));
  app.post<{ Params: { id: string } }>('/sessions/:id/finish', async ({ params, body }, reply) => {
    const { reason } = parseBody(FinishSessionBody, body ?? {});
    await service.finishSession(params.id, reason?.type ?? 'success');
    return reply.code(204).send();
  });
}
