import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { inSteps } from '../../../../core/concurrency/steps';
import { parseBody, RequestIdBody } from '../bodies';
import type { EngineService } from '../engine-service';
import type { FutureResult } from '../future-store';
import { ProtocolError } from '../protocol-error';

export function addFutureRoutes(app: FastifyInstance, service: EngineService): void {
  app.post('/retrieve_future', (request, reply) => retrieve(service, request, reply));
  app.post('/cancel_future', async ({ body }, reply) => {
    const { request_id: requestId } = parseBody(RequestIdBody, body);
    if (!service.sampling.cancel(requestId)) await checkFinished(service, requestId);
    return reply.code(204).send();
  });
}

/** A cancellation that comes too late is none; official clients only log what they are refused here. */
async function checkFinished({ context }: EngineService, requestId: string): Promise<void> {
  const outcome = await context.futures.wait(requestId, 0);
  if (outcome === undefined) throw unknownRequest(requestId);
  if (outcome !== null) return;
  throw new ProtocolError(400, 'Only sampling can be cancelled: a model does what was asked of it in order.');
}

function unknownRequest(requestId: string): ProtocolError {
  return new ProtocolError(
    410,
    `Request "${requestId.slice(0, 300)}" is not known (any more). Results end with the engine's process.`,
  );
}

async function retrieve(
  service: EngineService,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { request_id: requestId } = parseBody(RequestIdBody, request.body);
  const outcome = await service.context.futures.wait(requestId, service.longPollMs);
  if (outcome === undefined) throw unknownRequest(requestId);
  if (outcome === null) {
    const delay = service.context.futures.waitsFor(requestId);
    return reply.code(408).send({
      type: 'try_again',
      request_id: requestId,
      queue_state: delay?.queueState ?? 'active',
      ...(delay && { queue_state_reason: delay.reason }),
    });
  }
  if (outcome.kind === 'failure') return outcome.failure;
  return answerWith(outcome.result, request, reply);
}

async function answerWith(
  result: FutureResult,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const binary = prefersProtobuf(request) ? result.protobuf?.() : undefined;
  if (binary)
    return reply
      .type('application/x-protobuf')
      .send(Buffer.from(binary.buffer, binary.byteOffset, binary.byteLength));
  const text = result.text?.();
  if (!text) return result.json();
  return reply.type('application/json; charset=utf-8').send(await inSteps(text));
}

function prefersProtobuf(request: FastifyRequest): boolean {
  return request.headers.accept?.trimStart().startsWith('application/x-protobuf') ?? false;
}
