import { stripEnd } from '../../core/strip-ends';
import { DomainError } from '../../core/errors';
import { secretParameterOf } from '../../core/secret-parameters';

export interface EndpointAddress {
  readonly origin: string;
  /** What requests append their path to, without a slash at its end. */
  readonly prefix: string;
  /** The query people give for every request, e.g. `?api-version=1`. */
  readonly search: string;
  /** For messages and as identity; holds no credentials. */
  readonly shown: string;
}

const LOOKS_LIKE = 'Write it like https://host/v1 or http://127.0.0.1:8000/v1.';

/** The base URL as given: paths are appended and nothing is guessed. */
export function parseEndpointUrl(text: string): EndpointAddress {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new DomainError('bad-config', `Endpoint URL "${text}" is no http or https address. ${LOOKS_LIKE}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new DomainError(
      'bad-config',
      `The URL of the endpoint at ${url.host} holds a user or a password. Give the key as OPENAI_API_KEY.`,
    );
  }
  const secret = secretParameterOf(url.href);
  if (secret !== null) {
    throw new DomainError(
      'bad-config',
      `The URL of the endpoint at ${url.host} holds a key (its parameter ${secret}), and addresses are stored. Give the key as OPENAI_API_KEY.`,
    );
  }
  const prefix = stripEnd(url.pathname, '/');
  return { origin: url.origin, prefix, search: url.search, shown: `${url.origin}${prefix}` };
}

/** Most servers have their routes below a version, and most wrong URLs lack it. */
export function namesVersion({ prefix }: EndpointAddress): boolean {
  return /\/v\d[a-z0-9]*(\/|$)/.test(prefix);
}
