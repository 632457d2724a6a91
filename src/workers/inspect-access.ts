import { join } from 'node:path';
import pino from 'pino';
import type { Logger } from 'pino';
import { namedVariables, plainVariables } from '../config/environment';
import type { InspectAccess } from '../evaluation/inspect/run/inspect-access';
import type { RunWorkersOptions } from './worker-options';

/** Tasks of Inspect AI ask the weights through a gateway of this process. */
export function createInspectAccess({
  dataFolder,
  toolFolder,
  logger = pino({ level: 'silent' }),
}: Pick<RunWorkersOptions, 'dataFolder' | 'toolFolder'> & { readonly logger?: Logger }): InspectAccess {
  return {
    cacheFolder: toolFolder ?? join(dataFolder, 'cache'),
    variables: plainVariables(),
    readVariables: (names) => namedVariables(names),
    async serveModel(model) {
      // A web framework that most workers never need.
      const { serveModel } = await import('../server/gateway/serve-model.js');
      return serveModel(model, logger);
    },
  };
}
