import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EngineService } from '../engine-service';
import { refuseStranger } from './authorize';
import { refuseBatch } from './refuse-batch';
import { unknownField } from './known-fields';
import type { StrictMode } from './strict-mode';
import { answerTrouble } from './trouble-answers';

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const PREFIX = '/api/v1/';
const PROTOBUF = 'application/x-protobuf';
/** Results that the service gives in no other form. */
const BINARY_RESULTS = ['ForwardBackward', 'Forward', 'Sample'];

/** Routes of ours, or of older generations of the service. */
const ABSENT = /^forward$|\/(archive|archive\.tar\.gz)$/;

/** Puts what is strict before and behind the routes of the protocol. */
export function addStrictHooks(api: FastifyInstance, service: EngineService, strict: StrictMode): void {
  const lostAnswers = new WeakSet<FastifyRequest>();

  api.addHook('onRequest', async (request, reply) => {
    const exchange = { request, reply };
    const isAnswered =
      refuseStranger(strict, routeOf(request), exchange) || refuseAbsent(exchange) || refuseForm(exchange);
    return isAnswered ? reply : undefined;
  });

  api.addHook('preHandler', async (request, reply) => {
    if (refuseFields({ request, reply })) return reply;
    if (Buffer.isBuffer(request.body)) refuseBatch(service, strict, request.body);
    const trouble = troubleOf(strict, request);
    if (trouble === null) return undefined;
    if (answerTrouble(trouble, strict, { reply, requestId: promiseOf(request) })) return reply;
    lostAnswers.add(request);
    return undefined;
  });

  api.addHook('onSend', async (request, reply, payload) => {
    if (lostAnswers.has(request)) request.raw.socket.destroy();
    return routeOf(request) === 'retrieve_future' ? announced(strict, { request, reply }, payload) : payload;
  });
}

function routeOf(request: FastifyRequest): string {
  return (request.routeOptions.url ?? '').replace(PREFIX, '');
}

function refuseAbsent({ request, reply }: Exchange): boolean {
  if (!ABSENT.test(routeOf(request))) return false;
  void reply.code(404).send({ detail: 'Not Found' });
  return true;
}

function refuseForm({ request, reply }: Exchange): boolean {
  const route = routeOf(request);
  const kind = String(request.headers['x-tinker-request-type'] ?? '');
  if (route === 'forward_backward' && request.headers['content-type'] !== PROTOBUF) {
    void reply.code(415).send({ detail: `forward_backward takes ${PROTOBUF} only.` });
    return true;
  }
  const isBinary = route === 'retrieve_future' && BINARY_RESULTS.includes(kind);
  if (!isBinary || request.headers.accept?.trimStart().startsWith(PROTOBUF)) return false;
  void reply.code(406).send({ detail: `The result of ${kind} is given as ${PROTOBUF} only.` });
  return true;
}

/** As the usual framework words it, a list of field errors. */
function refuseFields({ request, reply }: Exchange): boolean {
  const field = unknownField(routeOf(request), request.body);
  if (field === null) return false;
  const detail = [
    { type: 'extra_forbidden', loc: ['body', ...field.split('.')], msg: 'Extra inputs are not permitted' },
  ];
  void reply.code(422).send({ detail });
  return true;
}

function troubleOf(strict: StrictMode, request: FastifyRequest) {
  const route = routeOf(request);
  if (route !== 'retrieve_future') return strict.meet(route, Date.now());
  const kind = String(request.headers['x-tinker-request-type'] ?? 'Unknown');
  return strict.meetPromise(kind, promiseOf(request), Date.now());
}

function promiseOf({ body }: FastifyRequest): string {
  const id = typeof body === 'object' && body !== null && 'request_id' in body ? body.request_id : '';
  return String(id);
}

/** A large result is first told by its size, so that a client can make room for it. */
function announced(strict: StrictMode, { request, reply }: Exchange, payload: unknown): unknown {
  const { body } = request;
  const asksForSize =
    typeof body === 'object' &&
    body !== null &&
    'allow_metadata_only' in body &&
    body.allow_metadata_only === true;
  if (!asksForSize || reply.statusCode !== 200 || isFailure(payload)) return payload;
  const size = sizeOf(payload);
  if (size <= strict.limits.announcedAboveBytes) return payload;
  void reply.removeHeader('content-length').header('content-type', 'application/json');
  return JSON.stringify({ status: 'complete_metadata', response_payload_size: size });
}

function isFailure(payload: unknown): boolean {
  return typeof payload === 'string' && payload.startsWith('{"error":');
}

function sizeOf(payload: unknown): number {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}
