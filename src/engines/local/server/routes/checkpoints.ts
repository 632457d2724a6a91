import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PageQuery, parseBody, TtlBody, WeightsInfoBody } from '../bodies';
import { expiryOf } from '../checkpoint-service';
import type { ClientKey } from '../client-key';
import { archiveCheckpoint } from '../checkpoints/checkpoint-archive';
import type { CheckpointMeta } from '../checkpoints/checkpoint-files';
import { checkAddress, formatCheckpointPath, parseCheckpointPath } from '../checkpoints/checkpoint-path';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';
import { describeCheckpoint } from '../run-descriptions';

export interface CheckpointRoute {
  Params: { run: string; kind: string; name: string };
}

export const CHECKPOINT = '/training_runs/:run/checkpoints/:kind/:name';
export const LINK_LIFETIME_SECONDS = 3600;

/** Reading, keeping and removing what was saved. */
/** `clientKey` signs links, which are followed without a key. */
export function addCheckpointRoutes(
  app: FastifyInstance,
  service: EngineService,
  clientKey?: ClientKey,
): void {
  const { checkpoints } = service.context;
  app.get('/checkpoints', ({ query }) => pageOf(checkpoints.list(), query));
  app.get<{ Params: { run: string } }>('/training_runs/:run/checkpoints', ({ params, query }) =>
    pageOf(
      checkpoints.list().filter(({ modelId }) => modelId === params.run),
      query,
    ),
  );
  app.post('/weights_info', ({ body }) => {
    const { tinker_path: path } = parseBody(WeightsInfoBody, body);
    const meta = checkpoints.find(parseCheckpointPath(path));
    if (!meta) throw new ProtocolError(404, `Checkpoint not found: ${path}`);
    return describeWeights(meta);
  });
  app.delete('/training_runs/:run/checkpoints/:name', () => {
    throw new ProtocolError(
      400,
      'Name the checkpoint with its kind: weights/<name>, sampler_weights/<name> or external_weights/<name>.',
    );
  });
  app.delete<CheckpointRoute>(CHECKPOINT, async ({ params }, reply) => {
    await checkpoints.remove(requireSaved(service, params));
    return reply.code(204).send();
  });
  app.put<CheckpointRoute>(`${CHECKPOINT}/ttl`, async ({ params, body }, reply) => {
    const { ttl_seconds: ttlSeconds } = parseBody(TtlBody, body);
    await checkpoints.setExpiry(
      requireSaved(service, params),
      expiryOf(new Date(service.context.now()), ttlSeconds),
    );
    return reply.code(204).send();
  });
  app.route<CheckpointRoute>({
    method: ['POST', 'DELETE'],
    url: `${CHECKPOINT}/publish`,
    handler: () => {
      throw new ProtocolError(
        400,
        'This engine serves one machine and publishes nothing. Share the archive of the checkpoint instead.',
      );
    },
  });
  addArchiveRoutes(app, service, clientKey);
}

function addArchiveRoutes(app: FastifyInstance, service: EngineService, clientKey?: ClientKey): void {
  app.get<CheckpointRoute>(`${CHECKPOINT}/archive`, (request) => {
    requireSaved(service, request.params);
    const now = service.context.now();
    const path = request.url.replace(/\/archive(\?.*)?$/, '/archive.tar.gz');
    const link = clientKey?.signed(path, now + LINK_LIFETIME_SECONDS * 1000) ?? path;
    return { url: `${originOf(request)}${link}`, expires: expiryOf(new Date(now), LINK_LIFETIME_SECONDS) };
  });
  app.get<CheckpointRoute>(`${CHECKPOINT}/archive.tar.gz`, async ({ params }, reply) => {
    const meta = requireSaved(service, params);
    const weights = await service.context.checkpoints.loadWeightsFile(meta);
    const archive = archiveCheckpoint(meta, weights, (error) => {
      service.context.logger.warn({ err: error, checkpoint: formatCheckpointPath(meta) }, 'archive failed');
    });
    return reply.type('application/gzip').send(archive);
  });
}

export function originOf(request: FastifyRequest): string {
  return `${request.protocol}://${request.host}`;
}

export function requireSaved({ context }: EngineService, params: CheckpointRoute['Params']): CheckpointMeta {
  const address = checkAddress({ modelId: params.run, kind: params.kind, name: params.name });
  const meta = context.checkpoints.find(address);
  if (!meta) throw new ProtocolError(404, `Checkpoint not found: ${formatCheckpointPath(address)}`);
  return meta;
}

function pageOf(checkpoints: readonly CheckpointMeta[], query: unknown): object {
  const { limit, offset } = parseBody(PageQuery, query);
  return {
    checkpoints: checkpoints.slice(offset, offset + limit).map(describeCheckpoint),
    cursor: { offset, limit, total_count: checkpoints.length },
  };
}

function describeWeights({ baseModel, lora }: CheckpointMeta): object {
  if (!lora) return { base_model: baseModel, is_lora: false, lora_rank: null };
  return {
    base_model: baseModel,
    is_lora: true,
    lora_rank: lora.rank,
    train_unembed: lora.trainUnembed,
    train_mlp: lora.trainMlp,
    train_attn: lora.trainAttn,
  };
}
