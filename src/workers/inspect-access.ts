import { join } from 'node:path';
import pino from 'pino';
import type { Logger } from 'pino';
import { namedVariables, plainVariables } from '../config/environment';
import type { InspectTask } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { InspectAccess } from '../evaluation/inspect/run/inspect-access';
import { taskFileOf } from '../evaluation/inspect/task-source';
import type { Permissions } from '../config/permissions';
import type { RunWorkersOptions } from './worker-options';

interface InspectParts {
  readonly logger?: Logger;
  readonly permissions: Permissions;
}

/** Tasks of Inspect AI ask the weights through a gateway of this process. */
export function createInspectAccess({
  dataFolder,
  toolFolder,
  logger = pino({ level: 'silent' }),
  permissions,
}: Pick<RunWorkersOptions, 'dataFolder' | 'toolFolder'> & InspectParts): InspectAccess {
  return {
    cacheFolder: toolFolder ?? join(dataFolder, 'cache'),
    variables: plainVariables(),
    requirePermission: (task) => {
      requirePermission(task, permissions);
    },
    readVariables: (names) => namedVariables(names),
    async serveModel(model) {
      // A web framework that most workers never need.
      const { serveModel } = await import('../server/gateway/serve-model.js');
      return serveModel(model, logger);
    },
  };
}

/** Tasks get keys where a person let them have some: what `--model-role` names as a service is asked with them. */
function requirePermission({ task, roles }: InspectTask, permissions: Permissions): void {
  const file = taskFileOf(task);
  if (file !== null) permissions.requireCode(file, 'inspect');
  const untold = addressesIn(roles).find((address) => permissions.keyFor(address, '') === undefined);
  if (untold === undefined) return;
  throw new DomainError(
    'refused',
    `inspect: this worker was not told of ${untold}, which a role of ${task} names and keys would be sent to. ` +
      "Give the command with the worker's --data-dir, or name the address in EVERSTEP_KEY_ADDRESSES where the worker is started.",
  );
}

function addressesIn(value: unknown): string[] {
  if (typeof value === 'string') return /^https?:/i.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(addressesIn) : [];
}
