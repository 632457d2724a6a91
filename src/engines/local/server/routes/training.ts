import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../../../../core/errors';
import {
  decodeForwardBackwardRequest,
  forwardBackwardRequestFromJson,
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
import { ProtocolError } from '../protocol-error';
import type { NumberedForwardBackward } from '../training-service';

/** Requests about one model. All but `get_info` answer with a promise. */
export function addTrainingRoutes(app: FastifyInstance, service: EngineService): void {
  const { models, training, saving } = service;
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
      '/forward_backward': (body) => forwardBackward(service, body, false),
      '/forward': (body) => forwardBackward(service, body, true),
    });
  });
}

function addNumberedRoutes(
  app: FastifyInstance,
  service: EngineService,
  handlers: Readonly<Record<string, (body: unknown) => unknown>>,
): void {
  for (const [url, handle] of Object.entries(handlers)) {
    app.post(url, (request: FastifyRequest) => refusingBadOnes(service, request.body, handle));
  }
}

function refusingBadOnes(service: EngineService, body: unknown, handle: (body: unknown) => unknown): unknown {
  try {
    return handle(body);
  } catch (error) {
    // What is only put off must keep its place.
    if (error instanceof ProtocolError && error.status === 429) throw error;
    const envelope = NumberedRequest.safeParse(Buffer.isBuffer(body) ? envelopeOf(body) : body);
    if (envelope.success) service.training.refuse(envelope.data.model_id, envelope.data.seq_id);
    throw error;
  }
}

/** Model and number of a message whose tensors may be unreadable. */
function envelopeOf(bytes: Buffer): unknown {
  const envelope = readRequestEnvelope(bytes);
  return envelope && { model_id: envelope.modelId, seq_id: envelope.seqId };
}

/** What there is no model for is not looked at: it may be millions of numbers. */
function forwardBackward({ models, training }: EngineService, body: unknown, forwardOnly: boolean): unknown {
  const named = ModelRequest.safeParse(Buffer.isBuffer(body) ? envelopeOf(body) : body);
  if (named.success) models.require(named.data.model_id);
  return training.forwardBackward(readForwardBackward(body, forwardOnly));
}

function readForwardBackward(body: unknown, forwardOnly: boolean): NumberedForwardBackward {
  const request = Buffer.isBuffer(body) ? readBinary(body) : readJson(body);
  return { ...request, forwardOnly: forwardOnly || request.forwardOnly };
}

function readBinary(body: Buffer): NumberedForwardBackward {
  const request = orRefuse(400, () => decodeForwardBackwardRequest(body));
  const { seq_id: sequence } = parseBody(ForwardBackwardEnvelope, {
    model_id: request.modelId,
    // The binary form cannot leave the number out: 0 says that there is none.
    seq_id: request.seqId === 0 ? null : request.seqId,
  });
  return { ...request, sequence };
}

function readJson(body: unknown): NumberedForwardBackward {
  const { seq_id: sequence } = parseBody(ForwardBackwardEnvelope, body);
  return { ...orRefuse(422, () => forwardBackwardRequestFromJson(body)), sequence };
}

function orRefuse<Value>(status: number, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof DomainError ? new ProtocolError(status, error.message) : error;
  }
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
