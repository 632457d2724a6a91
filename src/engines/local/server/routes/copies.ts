import { createHash, randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { CopyWeightsBody as CopyRequest } from '../bodies';
import { CopyWeightsBody, parseBody } from '../bodies';
import { expiryOf } from '../checkpoint-service';
import type { CheckpointOrigin } from '../checkpoints/checkpoint-files';
import { formatCheckpointPath, parseLoadablePath } from '../checkpoints/checkpoint-path';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';

/** A copy belongs to a training run of its own that cannot be trained, and lives on when its source is deleted. */
export function addCopyRoute(app: FastifyInstance, service: EngineService): void {
  const { checkpoints } = service.context;
  app.post('/copy_weights', async ({ body, headers }) => {
    const asked = parseBody(CopyWeightsBody, body);
    const source = parseLoadablePath(asked.source_path);
    const meta = checkpoints.find(source);
    if (!meta) throw new ProtocolError(404, `Checkpoint not found: ${asked.source_path}`);
    const modelId = runOfCopy(service, asked, headers['x-idempotency-key']);
    const createdAt = new Date(service.context.now());
    const copy: CheckpointOrigin = {
      ...meta,
      modelId,
      createdAt: createdAt.toISOString(),
      expiresAt: expiryOf(createdAt, asked.ttl_seconds),
    };
    const existing = checkpoints.find(copy);
    if (existing && JSON.stringify(existing.sha256) !== JSON.stringify(meta.sha256))
      throw new ProtocolError(400, `${formatCheckpointPath(copy)} exists already, with other weights.`);
    if (!existing) await checkpoints.copy(source, copy);
    return { tinker_path: formatCheckpointPath(copy) };
  });
}

/** The same for a request that is sent again, so that it makes no second copy. */
function runOfCopy(service: EngineService, asked: CopyRequest, key: string | string[] | undefined): string {
  const { session_id: sessionId, model_seq_id: number } = asked;
  if (sessionId === null) {
    const session = key === undefined ? randomUUID() : `copy-${digestOf(String(key), asked.source_path)}`;
    return `${session}:train:0`;
  }
  const id = `${sessionId}:train:${service.context.sessions.takeNumber(sessionId, 'model', number)}`;
  if (service.models.find(id))
    throw new ProtocolError(400, `model_seq_id ${number} of this session was already used for a model.`);
  return id;
}

function digestOf(...words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 32);
}
