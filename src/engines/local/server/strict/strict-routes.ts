import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { encryptFile } from '../checkpoints/age-files';
import type { CheckpointMeta } from '../checkpoints/checkpoint-files';
import { checkAddress, formatCheckpointPath } from '../checkpoints/checkpoint-path';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';
import type { StrictMode } from './strict-mode';

interface CheckpointRoute {
  Params: { run: string; kind: string; name: string };
}

const LINK_LIFETIME_MS = 3_600_000;

/** What a client asks before it trains, as the official service answers it: nothing tells that this is an engine of ours. */
export function addStrictBootstrapRoutes(
  api: FastifyInstance,
  { context }: EngineService,
  strict: StrictMode,
): void {
  const { limits, options } = strict;
  api.post('/client/config', () => ({
    pjwt_auth_enabled: true,
    credential_default_source: 'api_key',
    parallel_fwdbwd_chunks: true,
    proto_compress_fwdbwd: false,
    fwdbwd_max_chunk_len: limits.chunkDatums,
    fwdbwd_max_chunk_bytes_count: limits.chunkBytes,
  }));
  api.post('/client/dynamic_config', () => ({
    refresh_interval_sec: 300,
    sample_cancel_enabled: true,
    sample_cancel_max_batch_size: 64,
  }));
  api.post('/auth/token', () => ({ jwt: strict.tokens.issue(strict.now()) }));
  api.post('/telemetry', () => ({ status: 'accepted' }));
  api.get('/healthz', () => ({ status: 'ok' }));
  api.get('/get_server_capabilities', () => ({
    supported_models: [
      ...context.runtime.baseModels.map(({ name, contextLength }) => ({
        model_name: name,
        max_context_length: contextLength,
      })),
      ...(options.alsoOffers ?? []).map((name) => ({ model_name: name, max_context_length: 32_768 })),
    ],
  }));
}

/** Weights by the file, at addresses that need no key and end soon; newer services have no other way. */
export function addStrictWeightsRoutes(
  { app, api }: { readonly app: FastifyInstance; readonly api: FastifyInstance },
  { context }: EngineService,
): void {
  const links = new Map<string, { readonly meta: CheckpointMeta; readonly endsAt: number }>();

  api.get<CheckpointRoute>('/training_runs/:run/checkpoints/:kind/:name/external_weights_urls', (request) => {
    const { run, kind, name } = request.params;
    const address = checkAddress({ modelId: run, kind, name });
    const meta = context.checkpoints.find(address);
    if (!meta) throw new ProtocolError(404, `Checkpoint not found: ${formatCheckpointPath(address)}`);
    const id = randomBytes(16).toString('hex');
    const endsAt = Date.now() + LINK_LIFETIME_MS;
    links.set(id, { meta, endsAt });
    const file = `${meta.lora ? 'adapter_model' : 'model'}.safetensors${meta.ageRecipients ? '.age' : ''}`;
    return {
      urls: { [file]: `${originOf(request)}/signed/${id}/${file}` },
      expires: new Date(endsAt).toISOString(),
    };
  });

  app.get<{ Params: { id: string } }>('/signed/:id/:file', async ({ params }, reply) => {
    const link = links.get(params.id);
    if (!link || link.endsAt < Date.now()) throw new ProtocolError(403, 'This address has ended.');
    const weights = await context.checkpoints.loadWeightsFile(link.meta);
    const { ageRecipients } = link.meta;
    return reply
      .type('application/octet-stream')
      .send(
        ageRecipients
          ? (await encryptFile(weights, ageRecipients)).content
          : Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength),
      );
  });
}

function originOf(request: FastifyRequest): string {
  return `${request.protocol}://${request.host}`;
}
