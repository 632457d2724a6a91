import { parse } from 'yaml';
import { DomainError } from '../../core/errors';
import { isDeeperThan } from '../../core/json-depth';

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

/** Providers of Inspect that ask a service and run nothing here; others load weights, and code beside them, from wherever a name says. */
const SERVICES = new Set(
  (
    'openai openai-api openai-api-completions anthropic google mistral grok groq together ' +
    'fireworks moonshot meta deepseek sambanova openrouter perplexity cloudflare azureai ' +
    'bedrock sagemaker hf-inference-providers litellm-proxy ollama llama-cpp-python mockllm none'
  ).split(' '),
);
/** Of lists and mappings in a model's settings. */
const DEEPEST = 20;

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
  if (typeof read === 'string') return PLAIN.test(read);
  return typeof read === 'object' && read !== null && !isDeeperThan(read, DEEPEST);
}

/** Whether nothing but its address decides who answers: no provider that runs here, no arguments of a provider's own. */
export function isService(model: unknown): boolean {
  if (typeof model === 'string')
    return model.split(',').every((name) => name === '' || SERVICES.has(name.split('/', 1)[0] ?? ''));
  if (typeof model !== 'object' || model === null) return false;
  if (Array.isArray(model)) return model.every(isService);
  const { model: name, model_args: args = {} }: { model?: unknown; model_args?: unknown } = model;
  const isPlain =
    typeof args === 'object' && args !== null && Object.keys(args).every((key) => key === 'base_url');
  return typeof name === 'string' && isService(name) && isPlain;
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

/** Arguments that are addresses as a whole. What else a task makes of its arguments is its own. */
export function addressesOfArguments(value: unknown): string[] {
  if (typeof value === 'string') return /^\s*(?:https?|wss?):/i.test(value) ? [addressIn(value.trim())] : [];
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(addressesOfArguments)
    : [];
}

function addressIn(text: string): string {
  const address = text.includes('://') ? text : `https://${text}`;
  if (ADDRESS.test(address)) return address;
  throw new DomainError(
    'refused',
    `inspect: ${JSON.stringify(text)}, which a role or an argument names, is no plain address. Write https://HOST:PORT/PATH.`,
  );
}
