import { fromBinary } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../../../../core/errors';
import type { ForwardBackwardRequest } from '../../../tinker/codec';
import { decodeForwardBackwardRequest, forwardBackwardRequestFromJson } from '../../../tinker/codec';
import { ForwardBackwardRequestSchema } from '../../../tinker/generated/tinker_pb';
import {
  CreateModelBody,
  LoadWeightsBody,
  ModelRequest,
  NumberedRequest,
  OptimStepBody,
  parseBody,
  SaveForSamplerBody,
  SaveWeightsBody,
} from '../bodies';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';

/** Requests about one model. All but `get_info` answer with a promise. */
export function addTrainingRoutes(app: FastifyInstance, service: EngineService): void {
  const { models, training, saving } = service;
  app.post('/create_model', ({ body }) => models.create(parseBody(CreateModelBody, body)));
  app.post('/unload_model', ({ body }) =>
    models.unload(parseBody(ModelRequest, body).model_id, 'its client asked for it'),
  );
  app.post('/get_info', ({ body }) => describeModel(service, parseBody(ModelRequest, body).model_id));
  const numbered: Record<string, (body: unknown) => unknown> = {
    '/forward_backward': (body) => training.forwardBackward(readForwardBackward(body, false)),
    '/forward': (body) => training.forwardBackward(readForwardBackward(body, true)),
    '/optim_step': (body) => training.optimStep(parseBody(OptimStepBody, body)),
    '/save_weights': (body) => saving.saveWeights(parseBody(SaveWeightsBody, body)),
    '/save_weights_for_sampler': (body) => saving.saveForSampler(parseBody(SaveForSamplerBody, body)),
    '/load_weights': (body) => {
      const load = parseBody(LoadWeightsBody, body);
      return 'model_id' in load ? saving.load(load) : models.createFromCheckpoint(load);
    },
  };
  for (const [url, handle] of Object.entries(numbered)) {
    app.post(url, (request: FastifyRequest) => refusingBadOnes(service, request.body, handle));
  }
}

function refusingBadOnes(service: EngineService, body: unknown, handle: (body: unknown) => unknown): unknown {
  try {
    return handle(body);
  } catch (error) {
    const envelope = NumberedRequest.safeParse(Buffer.isBuffer(body) ? envelopeOf(body) : body);
    if (envelope.success) service.training.refuse(envelope.data.model_id, envelope.data.seq_id);
    throw error;
  }
}

/** Model and number of a message whose tensors may be unreadable. */
function envelopeOf(bytes: Buffer): unknown {
  try {
    const { modelId, seqId } = fromBinary(ForwardBackwardRequestSchema, bytes);
    return { model_id: modelId, seq_id: seqId };
  } catch {
    return null;
  }
}

function readForwardBackward(body: unknown, forwardOnly: boolean): ForwardBackwardRequest {
  try {
    const request = Buffer.isBuffer(body)
      ? decodeForwardBackwardRequest(body)
      : forwardBackwardRequestFromJson(body);
    return { ...request, forwardOnly: forwardOnly || request.forwardOnly };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new ProtocolError(Buffer.isBuffer(body) ? 400 : 422, error.message);
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
