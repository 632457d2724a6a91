import { DomainError } from '../../core/errors';
import { isObject, jsonIn, listAt, textAt } from './answer-fields';
import type { EndpointAddress } from './endpoint-address';
import { namesVersion, parseEndpointUrl } from './endpoint-address';
import type { HttpAnswer } from './http-exchange';
import { getOnce } from './http-get';
import { nearestNames } from '../../core/nearest-names';
import type { Destination } from './refusals';
import { refusalError, serverError } from './refusals';
import { endpointHeaders } from './request-headers';

export interface ProbeEndpointOptions {
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly model: string;
  /** Default ten seconds. */
  readonly timeoutMs?: number | undefined;
}

export interface EndpointProbe {
  /** What the endpoint serves; null where it does not list its models, so that the model is not checked. */
  readonly models: readonly string[] | null;
}

const TIMEOUT_MS = 10_000;
const PATH = '/models';
const MOST_NAMES = 5;

/**
 * Asks an endpoint for its list of models, which costs nothing: whether it is there, takes the key and serves the model.
 * Throws `unreachable`, `unauthorized`, `unknown-model` or `request-failed`, each with its remedy.
 */
export async function probeEndpoint(options: ProbeEndpointOptions): Promise<EndpointProbe> {
  const address = parseEndpointUrl(options.url);
  const to: Destination = { address, path: PATH, model: options.model, apiKey: options.apiKey };
  const answer = await get(to, options);
  if (answer.status === 404 || answer.status === 405) return withoutList(to, options);
  if (isWebPage(answer)) throw await webPageAt(to, options);
  const models = modelsIn(answer, to);
  checkServed(models, to);
  return { models };
}

async function get({ address, apiKey }: Destination, options: ProbeEndpointOptions): Promise<HttpAnswer> {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const url = `${address.origin}${address.prefix}${PATH}${address.search}`;
  const outcome = await getOnce({ url, headers: endpointHeaders(apiKey), timeoutMs });
  switch (outcome.kind) {
    case 'answer':
      return outcome;
    case 'timeout':
      throw unreachable(address, `no answer within ${timeoutMs / 1000} s`);
    case 'too-large':
      throw unreachable(address, 'its answer has no end');
    case 'failure':
      throw unreachable(address, outcome.reason, outcome.cause);
  }
}

/** Not every server has the list; but most that seem to lack it are asked at the wrong address. */
async function withoutList(to: Destination, options: ProbeEndpointOptions): Promise<EndpointProbe> {
  if (namesVersion(to.address)) return { models: null };
  const below = await listBelow(to, options);
  throw new DomainError(
    'request-failed',
    below !== null
      ? `${to.address.shown} has no list of models, but ${below} does. Give ${below} as the endpoint's URL.`
      : `${to.address.shown}${PATH} answers 404. Give the URL that /chat/completions is appended to; most end in /v1.`,
    { category: 'user' },
  );
}

/** The address that ends in /v1, where there is a list; null where there is none. */
async function listBelow(to: Destination, options: ProbeEndpointOptions): Promise<string | null> {
  const below = parseEndpointUrl(`${to.address.shown}/v1${to.address.search}`);
  const answer = await get({ ...to, address: below }, options).catch(() => null);
  const isThere = answer !== null && answer.status !== 404 && answer.status !== 405 && !isWebPage(answer);
  return isThere ? below.shown : null;
}

/** Programs with a web page of their own answer with it whatever is asked; so do gateways that want somebody to log in. */
function isWebPage({ status, text }: HttpAnswer): boolean {
  return status >= 200 && status <= 299 && /^\s*</.test(text);
}

async function webPageAt(to: Destination, options: ProbeEndpointOptions): Promise<DomainError> {
  const below = namesVersion(to.address) ? null : await listBelow(to, options);
  const remedy =
    below === null
      ? 'Give the URL that /chat/completions is appended to, as the documentation of the server says it; most end in /v1.'
      : `${below} has a list of models: give it as the endpoint's URL.`;
  return new DomainError(
    'request-failed',
    `${to.address.shown}${PATH} answers with a web page (HTML) and not with a list of models, so this is no address of an OpenAI-compatible API. ${remedy}`,
    { category: 'user' },
  );
}

function modelsIn(answer: HttpAnswer, to: Destination): string[] {
  const { status, text } = answer;
  const location = answer.headers['location'];
  if (status < 200 || status > 299) {
    throw refusalError({ status, text, location: typeof location === 'string' ? location : undefined }, to);
  }
  // Together's is a list by itself, Ollama's own stands at `models`.
  const list = jsonIn(text);
  if (!isObject(list) && !Array.isArray(list)) {
    throw serverError("answers with something that is no list of models. Check the endpoint's URL.", to);
  }
  const rows: readonly unknown[] = Array.isArray(list)
    ? list
    : [...listAt(list, 'data'), ...listAt(list, 'models')];
  return rows
    .map((row) => (typeof row === 'string' ? row : (textAt(row, 'id') ?? textAt(row, 'name'))))
    .filter((name) => name !== null);
}

function checkServed(models: readonly string[], { address, model }: Destination): void {
  // An empty list is a server that lists nothing, and not one that serves nothing.
  if (models.length === 0 || models.some((name) => isSameModel(name, model))) return;
  const nearest = nearestNames(model, models, MOST_NAMES);
  const more = models.length > nearest.length ? ` (${models.length} in all)` : '';
  throw new DomainError(
    'unknown-model',
    `The endpoint at ${address.shown} does not serve "${model}". It serves ${nearest.join(', ')}${more}.`,
  );
}

/** Ollama leaves out the tag `latest`, Gemini the folder of its names. */
function isSameModel(listed: string, asked: string): boolean {
  return [asked, `${asked}:latest`, `models/${asked}`].includes(listed);
}

function unreachable(address: EndpointAddress, reason: string, cause?: unknown): DomainError {
  return new DomainError(
    'unreachable',
    `The endpoint at ${address.shown} cannot be reached (${reason}). Check that it is up and that the URL is right.`,
    { retryable: true, cause },
  );
}
