import { parse } from 'yaml';
import { DomainError } from '../../core/errors';

/** A model by its name, several with commas between them, or a mapping with its settings as `--model-role` of Inspect takes it. */
export type RoleModel = string | readonly unknown[] | Readonly<Record<string, unknown>>;

const ROLE = /^\w+$/;
/** Nothing in it is YAML. */
const PLAIN = /^[\w./:@+,-]+$/;
/** That all who read addresses take alike. */
const ADDRESS =
  /^(https?|wss?):\/\/(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[\da-f:.]+\])(?::\d{1,5})?(?:[/?][\w./~%?=&-]*)?$/i;
/** Fields whose values name a host without saying so: xAI's `api_host`. */
const HOST_FIELD = /url|host|endpoint|address|proxy|server|target/i;

/** The models of roles, read once: what is judged here is what Inspect gets. */
export function roleModels(roles: Readonly<Record<string, unknown>>): Record<string, RoleModel> {
  return Object.fromEntries(Object.entries(roles).map(([role, model]) => [role, modelOf(role, model)]));
}

function modelOf(role: string, model: unknown): RoleModel {
  const read = typeof model === 'string' && !PLAIN.test(model) ? readYaml(role, model) : model;
  if (ROLE.test(role) && isModel(read)) return read;
  throw new DomainError(
    'bad-config',
    `inspect: the role ${JSON.stringify(role)} names no model. A role is letters and digits, its model a name such as ` +
      'openai/gpt-4o or a mapping such as {model: openai/gpt-4o, temperature: 0}.',
  );
}

function isModel(read: unknown): read is RoleModel {
  return typeof read === 'string' ? PLAIN.test(read) : typeof read === 'object' && read !== null;
}

function readYaml(role: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new DomainError('bad-config', `inspect: the model of role ${JSON.stringify(role)} is no YAML.`, {
      cause: error,
    });
  }
}

/** The services that models of roles are asked at, where they say so; one that can be read in two ways is refused. */
export function addressesOf(model: unknown, field = ''): string[] {
  if (typeof model === 'string')
    return model.includes('://') || HOST_FIELD.test(field) ? [addressIn(model)] : [];
  if (typeof model !== 'object' || model === null) return [];
  return Object.entries(model).flatMap(([name, value]: [string, unknown]) => [
    ...addressesOf(value, Array.isArray(model) ? field : name),
    ...(name.includes('://') ? [addressIn(name)] : []),
  ]);
}

function addressIn(text: string): string {
  const address = text.includes('://') ? text : `https://${text}`;
  if (ADDRESS.test(address)) return address;
  throw new DomainError(
    'refused',
    `inspect: ${JSON.stringify(text)}, which a role names, is no plain address. Write https://HOST:PORT/PATH.`,
  );
}
