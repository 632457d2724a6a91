import { isAbsolute, join, normalize } from 'node:path';
import pino from 'pino';
import type { Logger } from 'pino';
import { namedVariables, plainVariables } from '../config/environment';
import type { InspectTask } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { InspectAccess } from '../evaluation/inspect/run/inspect-access';
import type { RoleModel } from '../evaluation/inspect/role-models';
import { addressesOf, addressesOfArguments, isService, roleModels } from '../evaluation/inspect/role-models';
import { requireTaskName, taskFileOf } from '../evaluation/inspect/task-source';
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

/** Tasks get keys where a person let them have some: what `--model-role` or an argument names as a service is asked with them. */
function requirePermission({ task, args, roles = {} }: InspectTask, permissions: Permissions): void {
  requireTaskName(task);
  const file = taskFileOf(task);
  if (file !== null) {
    requirePlainPath(file);
    permissions.requireCode(file, 'inspect');
  }
  const models = roleModels(roles);
  const untold = Object.values(models).find((model) => !isService(model) && !permissions.mayLoad(model));
  if (untold !== undefined) throw untoldModel(untold, task);
  const addresses = [...addressesOf(models), ...addressesOfArguments(args)];
  const foreign = addresses.find((address) => permissions.keyFor(address, '') === undefined);
  if (foreign === undefined) return;
  throw new DomainError(
    'refused',
    `inspect: this worker was not told of ${foreign}, which a role or an argument of ${task} names and keys would be sent to. ` +
      "Give the command with the worker's --data-dir, or name the address in EVERSTEP_KEY_ADDRESSES where the worker is started.",
  );
}

function untoldModel(model: RoleModel, task: string): DomainError {
  return new DomainError(
    'refused',
    `inspect: this worker was not told that it may load ${JSON.stringify(model).slice(0, 200)}, which a role of ${task} names. ` +
      "Name it in a command that is given with the worker's --data-dir, or in EVERSTEP_INSPECT_MODELS where the worker is started, or take a model of a service, such as openai/gpt-4o.",
  );
}

/** Inspect opens what the system finds: of a path with `..` behind a link that is another file than the one whose name is read here. */
function requirePlainPath(file: string): void {
  if (isAbsolute(file) && normalize(file) === file) return;
  throw new DomainError(
    'refused',
    `inspect: ${JSON.stringify(file)} is no path of a file from the root on. Name the task by one without "..".`,
  );
}
