import type { FastifyInstance } from 'fastify';
import { expiryOf } from '../checkpoint-service';
import type { ClientKey } from '../client-key';
import { exportedFiles } from '../checkpoints/checkpoint-archive';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';
import type { CheckpointRoute } from './checkpoints';
import { CHECKPOINT, LINK_LIFETIME_SECONDS, originOf, requireSaved } from './checkpoints';

interface FileRoute {
  Params: CheckpointRoute['Params'] & { file: string };
}

/** Weights for other programs, file by file. `clientKey` signs their addresses, which are followed without a key. */
export function addExternalWeightsRoutes(
  app: FastifyInstance,
  service: EngineService,
  clientKey?: ClientKey,
): void {
  const { checkpoints } = service.context;
  app.get<CheckpointRoute>(`${CHECKPOINT}/external_weights_urls`, async (request) => {
    const meta = requireSaved(service, request.params);
    const files = exportedFiles(meta, await checkpoints.loadWeightsFile(meta));
    const folder = request.url.replace(/\/external_weights_urls(\?.*)?$/, '/files');
    const now = service.context.now();
    const linkTo = (file: string): string => {
      const path = `${folder}/${file}`;
      return `${originOf(request)}${clientKey?.signed(path, now + LINK_LIFETIME_SECONDS * 1000) ?? path}`;
    };
    return {
      urls: Object.fromEntries([...files.keys()].map((file) => [file, linkTo(file)])),
      expires: expiryOf(new Date(now), LINK_LIFETIME_SECONDS),
    };
  });
  app.get<FileRoute>(`${CHECKPOINT}/files/:file`, async ({ params }, reply) => {
    const meta = requireSaved(service, params);
    const files = exportedFiles(meta, await checkpoints.loadWeightsFile(meta));
    const open = files.get(params.file);
    if (!open)
      throw new ProtocolError(404, `The checkpoint has these files: ${[...files.keys()].join(', ')}.`);
    const { content, size } = await open();
    return reply.type('application/octet-stream').header('content-length', size).send(content);
  });
}
