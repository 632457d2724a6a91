import { DomainError } from '../core/errors';
import { secretParameterOf } from '../core/secret-parameters';

/** A config is stored with its run, so keys and passwords must stay out of it. */
const SECRET_NAME =
  /^(.*(apikey|accesskey|accesstoken|authtoken|bearertoken|secret|password|credentials?)|token|hftoken|wandbkey)$/;
const SECRET_VALUE = /^(tml-|sk-|hf_)[A-Za-z0-9_-]{12,}$/;

interface Found {
  readonly at: string;
  readonly variable: string;
}

/** Refuses a config that holds what looks like a key, naming where and never the value. */
export function refuseSecrets(source: string, config: unknown): void {
  const found = findSecret(config, '');
  if (!found) return;
  throw new DomainError(
    'bad-config',
    `${source}: "${found.at}" holds a key or password, and configs are stored with their run. Remove it and set the environment variable ${found.variable}.`,
  );
}

function findSecret(value: unknown, at: string): Found | undefined {
  if (typeof value === 'string')
    return hasSecret(value) ? { at, variable: variableFor(`${at} ${value}`) } : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const path = at === '' ? key : `${at}.${key}`;
    if (typeof inner !== 'object' && isSecretName(key)) return { at: path, variable: variableFor(path) };
    const found = findSecret(inner, path);
    if (found) return found;
  }
  return undefined;
}

function isSecretName(key: string): boolean {
  return SECRET_NAME.test(key.replaceAll(/[_-]/g, '').toLowerCase());
}

function hasSecret(text: string): boolean {
  if (secretParameterOf(text) !== null) return true;
  return SECRET_VALUE.test(text) || /^[a-z][a-z0-9+.-]*:\/\/[^/\s:]*:[^/\s]*@/i.test(text);
}

function variableFor(hint: string): string {
  const text = hint.toLowerCase();
  if (/openai|judge|sk-/.test(text)) return 'OPENAI_API_KEY';
  if (/hf_|hftoken|hugging|hub/.test(text)) return 'HF_TOKEN';
  return 'TINKER_API_KEY';
}
