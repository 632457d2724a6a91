import { realpathSync } from 'node:fs';
import type { Allowance } from '../config/allowances';
import { Allowances } from '../config/allowances';
import { namedJudge } from '../config/judge-config';
import type { RoleModel } from '../evaluation/inspect/role-models';
import { addressesOf, addressesOfArguments, isService, roleModels } from '../evaluation/inspect/role-models';
import { readInspectTask } from '../evaluation/inspect/task-name';
import { taskFileOf } from '../evaluation/inspect/task-source';

/**
 * Lets workers that share the data folder run the code and send keys to the services that a person names here: in a config, or in what
 * they ask for. What is read from a store is never given to this: it may be somebody else's.
 */
export function allowNamed(dataFolder: string, named: unknown): void {
  const allowances = new Allowances(dataFolder);
  for (const allowance of namedIn('', named)) allowances.allow(allowance);
}

/** `key` is the field that a value stands in, itself or in a list. */
function namedIn(key: string, value: unknown): Allowance[] {
  if (typeof value === 'string') return namedBy(key, value);
  if (typeof value !== 'object' || value === null) return [];
  if (key === 'modelRoles') return rolesIn({ ...value });
  if (key === 'args') return addressesOfArguments(value).flatMap((address) => serviceAt(address));
  return Object.entries(value).flatMap(([field, inner]: [string, unknown]) =>
    namedIn(Array.isArray(value) ? key : field, inner),
  );
}

function rolesIn(roles: Readonly<Record<string, unknown>>): Allowance[] {
  const models = Object.values(roleModels(roles));
  return [
    ...addressesOf(models).flatMap((address) => serviceAt(address)),
    ...models.filter((model) => !isService(model)).map(loading),
  ];
}

function loading(model: RoleModel): Allowance {
  return { use: 'model', of: JSON.stringify(model) };
}

/** Fields that name the address of a service. */
const SERVICES = new Set(['url', 'endpoint', 'engine', 'base_url']);

/** By the fields of configs and options. */
function namedBy(key: string, text: string): Allowance[] {
  switch (key) {
    case 'plugins':
      return codeAt(text);
    case 'task':
    case 'tasks':
      return codeAt(taskFileOf(text));
    case 'benchmarks':
      return inspectTask(text);
    case 'judge':
      return serviceAt(namedJudge(text).endpoint);
    case 'webhook':
      return serviceAt(text, 'webhook');
    default:
      return SERVICES.has(key) ? serviceAt(text) : [];
  }
}

/** `FILE.py@NAME?url=…&model-role=…`: arguments and roles may name services of their own. */
function inspectTask(name: string): Allowance[] {
  const asked = readInspectTask(name);
  if (!asked) return [];
  const addresses = addressesOfArguments(asked.args);
  return [
    ...codeAt(taskFileOf(asked.task)),
    ...addresses.flatMap((address) => serviceAt(address)),
    ...rolesIn(asked.roles ?? {}),
  ];
}

function serviceAt(address: string | undefined, use: 'key' | 'webhook' = 'key'): Allowance[] {
  const isAddress = address !== undefined && /^https?:/i.test(address) && URL.canParse(address);
  return isAddress ? [{ use, of: new URL(address).origin }] : [];
}

/** A file that is not here is on the workers' machine, which have to be told there. */
function codeAt(file: string | null): Allowance[] {
  try {
    return file === null ? [] : [{ use: 'code', of: realpathSync(file) }];
  } catch {
    return [];
  }
}
