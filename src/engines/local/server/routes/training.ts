import type { FastifyInstance } from 'fastify';
import type { Steps } from '../../../../core/concurrency/steps';
import { DomainError } from '../../../../core/errors';
import {
  decodeForwardBackwardRequest,
  forwardBackwardRequestInSteps,
  readRequestEnvelope,
} from '../../../tinker/codec';
import {
  CreateModelBody,
  ForwardBackwardEnvelope,
  LoadIntoModelBody,
  LoadNewModelBody,
  ModelRequest,
  NamesModel,
  NumberedRequest,
  OptimStepBody,
  parseBody,
  SaveExternalBody,
  SaveForSamplerBody,
  SaveWeightsBody,
} from '../bodies';
import type { EngineService } from '../engine-service';
import type { Accepted } from '../model-registry';
import { ProtocolError } from '../protocol-error';
import type { NumberedForwardBackward } from '../training-service';

/** Requests about one model. All but `get_info` answer with a promise. */
export function addTrainingRoutes(app: FastifyInstance, service: EngineService): void {
  const { bodies, models, training, saving } = service;
  app.post('/create_model', ({ body }) => models.create(parseBody(CreateModelBody, body)));
  app.post('/unload_model', ({ body }) =>
    models.unload(parseBody(ModelRequest, body).model_id, 'its client asked for it'),
  );
  app.post('/get_info', ({ body }) => describeModel(service, parseBody(ModelRequest, body).model_id));
  addNumberedRoutes(app, service, {
    '/optim_step': (body) => training.optimStep(parseBody(OptimStepBody, body)),
    '/save_weights': (body) => saving.saveWeights(parseBody(SaveWeightsBody, body)),
    '/save_weights_external': (body) => saving.saveExternal(parseBody(SaveExternalBody, body)),
    '/save_weights_for_sampler': (body) => saving.saveForSampler(parseBody(SaveForSamplerBody, body)),
    '/load_weights': (body) =>
      NamesModel.safeParse(body).success
        ? saving.load(parseBody(LoadIntoModelBody, body))
        : models.createFromCheckpoint(parseBody(LoadNewModelBody, body)),
  });
  // Apart, because only these two have a binary form: anywhere else it is an unsupported media type.
  app.register(async (binary) => {
    binary.addContentTypeParser('application/x-protobuf', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body);
    });
    addNumberedRoutes(binary, service, {
      '/forward_backward': (body, length) =>
        bodies.goOn({ length, steps: () => forwardBackward(service, body, false) }),
      '/forward': (body, length) =>
        bodies.goOn({ length, steps: () => forwardBackward(service, body, true) }),
    });
  });
}

function addNumberedRoutes(
  app: FastifyInstance,
  service: EngineService,
  handlers: Readonly<Record<string, (body: unknown, length: number) => unknown>>,
): void {
  for (const [url, handle] of Object.entries(handlers)) {
    app.post(url, async ({ body, headers }) => {
      try {
        return await handle(body, Number(headers['content-length'] ?? Infinity));
      } catch (error) {
        refuse(service, body, error);
        throw error;
      }
    });
  }
}

function refuse({ training }: EngineService, body: unknown, error: unknown): void {
  // What is only put off must keep its place.
  if (error instanceof ProtocolError && error.status === 429) return;
  const envelope = NumberedRequest.safeParse(Buffer.isBuffer(body) ? envelopeOf(body) : body);
  if (envelope.success) training.refuse(envelope.data.model_id, envelope.data.seq_id);
}

/** Model and number of a message whose tensors may be unreadable. */
function envelopeOf(bytes: Buffer): unknown {
  const envelope = readRequestEnvelope(bytes);
  return envelope && { model_id: envelope.modelId, seq_id: envelope.seqId };
}

/** What there is no model for is not looked at: it may be millions of numbers. */
function* forwardBackward(
  { models, training }: EngineService,
  body: unknown,
  forwardOnly: boolean,
): Steps<Accepted> {
  const named = ModelRequest.safeParse(Buffer.isBuffer(body) ? envelopeOf(body) : body);
  if (named.success) models.require(named.data.model_id);
  const request = yield* readForwardBackward(body);
  yield;
  return yield* training.forwardBackward({ ...request, forwardOnly: forwardOnly || request.forwardOnly });
}

function* readForwardBackward(body: unknown): Steps<NumberedForwardBackward> {
  const isBinary = Buffer.isBuffer(body);
  try {
    return isBinary ? readBinary(body) : yield* readJson(body);
  } catch (error) {
    throw error instanceof DomainError ? new ProtocolError(isBinary ? 400 : 422, error.message) : error;
  }
}

function readBinary(body: Buffer): NumberedForwardBackward {
  const request = decodeForwardBackwardRequest(body);
  const { seq_id: sequence } = parseBody(ForwardBackwardEnvelope, {
    model_id: request.modelId,
    // The binary form cannot leave the number out: 0 says that there is none.
    seq_id: request.seqId === 0 ? null : request.seqId,
  });
  return { ...request, sequence };
}

function* readJson(body: unknown): Steps<NumberedForwardBackward> {
  const { seq_id: sequence } = parseBody(ForwardBackwardEnvelope, body);
  yield;
  return { ...(yield* forwardBackwardRequestInSteps(body)), sequence };
}

function describeModel({ models }: EngineService, modelId: string): object {
  const { base, lora } = models.require(modelId).origin;
  return {
    type: 'get_info',
    model_id: modelId,
    // A folder, so that clients load the tokenizer from it without a hub.
    model_data: { model_name: base.name, tokenizer_id: base.folder },
    is_lora: lora !== null,
    lora_rank: lora?.rank ?? null,
    model_name: base.name,
  };
}
