import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../../../core/errors';
import type { AsampleRequest } from '../../../tinker/codec';
import { asampleRequestFromJson } from '../../../tinker/codec';
import { CreateSamplingSessionBody, parseBody, SampleLimits } from '../bodies';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';

export function addSamplingRoutes(app: FastifyInstance, { sampling }: EngineService): void {
  app.post('/create_sampling_session', async ({ body }) => ({
    sampling_session_id: await sampling.open(parseBody(CreateSamplingSessionBody, body)),
    type: 'create_sampling_session',
  }));
  app.get<{ Params: { id: string } }>('/samplers/:id', ({ params }) => {
    const { id, source, modelPath } = sampling.sessions.require(params.id);
    return { sampler_id: id, base_model: source.baseModel, model_path: modelPath };
  });
  app.post('/asample', ({ body }) => {
    const limits = parseBody(SampleLimits, body);
    const isUnlimited = limits.sampling_params?.max_tokens == null;
    return sampling.sample(readAsample(body), {
      isUnlimited,
      scoredLast: limits.prompt_logprobs_last_n ?? null,
      isRecorded: limits.record_stability_info === true,
    });
  });
}

function readAsample(body: unknown): AsampleRequest {
  try {
    return asampleRequestFromJson(body);
  } catch (error) {
    throw error instanceof DomainError ? new ProtocolError(422, error.message) : error;
  }
}
