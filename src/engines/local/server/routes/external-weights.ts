import type { FastifyInstance } from 'fastify';
import { expiryOf } from '../checkpoint-service';
import { exportedFiles } from '../checkpoints/checkpoint-archive';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';
import type { CheckpointRoute } from './checkpoints';
import { CHECKPOINT, LINK_LIFETIME_SECONDS, originOf, requireSaved } from './checkpoints';

interface FileRoute {
  Params: CheckpointRoute['Params'] & { file: string };
}

/** Weights for other programs, file by file. The addresses need no key, as this engine needs none, and do not end. */
export function addExternalWeightsRoutes(app: FastifyInstance, service: EngineService): void {
  const { checkpoints } = service.context;
  app.get<CheckpointRoute>(`${CHECKPOINT}/external_weights_urls`, async (request) => {
    const meta = requireSaved(service, request.params);
    const files = exportedFiles(meta, await checkpoints.loadWeightsFile(meta));
    const folder = `${originOf(request)}${request.url.replace(/\/external_weights_urls(\?.*)?$/, '/files')}`;
    return {
      urls: Object.fromEntries([...files.keys()].map((file) => [file, `${folder}/${file}`])),
      expires: expiryOf(new Date(), LINK_LIFETIME_SECONDS),
    };
  });
  app.get<FileRoute>(`${CHECKPOINT}/files/:file`, async ({ params }, reply) => {
    const meta = requireSaved(service, params);
    const files = exportedFiles(meta, await checkpoints.loadWeightsFile(meta));
    const content = files.get(params.file);
    if (!content)
      throw new ProtocolError(404, `The checkpoint has these files: ${[...files.keys()].join(', ')}.`);
    return reply.type('application/octet-stream').send(content);
  });
}
