import { DomainError } from '../../core/errors';
import type { JsonObject } from './answer-fields';
import { isObject, listAt, objectIn, textAt } from './answer-fields';
import type { EndpointAddress } from './endpoint-address';
import { namesVersion } from './endpoint-address';

/** Where a request went, for its error. */
export interface Destination {
  readonly address: EndpointAddress;
  readonly path: string;
  readonly model: string;
  readonly apiKey: string | undefined;
}

/** What a server said instead of a completion. */
export interface Refusal {
  readonly status: number;
  readonly text: string;
  /** The address a redirect names. */
  readonly location?: string | undefined;
}

const LONGEST_DETAIL = 500;
/** Shorter ones are words besides. */
const SHORTEST_KEY = 8;
/** A backslash in JSON text and what it says: `\u0073`, `\/`. */
const ESCAPE = /\\(?:u([\dA-Fa-f]{4})|.)/g;
/** Stands for itself inside of JSON text; quotes, backslashes and control characters do not. */
const PLAIN = /[ !#-[\]-~]/;
const ANY_KEY = /\b(?:sk|pk|key|tml|gsk|xai|hf|nvapi|AIza)[-_][\w.*-]{4,}|Bearer\s+\S+/g;

/** OpenAI, Azure, vLLM, SGLang, llama.cpp, LM Studio, TGI, Mistral, Anthropic and Gemini, in their words. */
const CONTEXT_OVERFLOW = new RegExp(
  [
    'context_length_exceeded',
    'exceed_context_size',
    'maximum (model|context|sequence) length',
    "model's context length",
    'longer than the maximum',
    'exceeds? the (available |maximum )?context',
    '(exceeds|larger than|greater than) .{0,30}context (size|length|window)',
    'context (length|size|window) (of .{0,20})?(is |was |has been )?(exceeded|overflow)',
    'context overflow',
    'maximum context',
    'prompt is too long',
    'reduce the length of (the|your) (messages|prompt|input)',
    '`inputs` tokens \\+ `max_new_tokens` must be',
    'input token count .{0,20}exceeds the maximum',
  ].join('|'),
  'i',
);

/** A quota does not come back by waiting, although it is refused as too many requests are. */
const NO_MONEY =
  /insufficient_quota|exceeded your current quota|credit balance is too low|billing_hard_limit/i;
/** One request above a limit on tokens a minute never fits. */
const NEVER_FITS = /request too large/i;

export function isLackOfCapacity({ status, text }: Refusal, hasWait: boolean): boolean {
  if (status === 429) return !NO_MONEY.test(text) && !NEVER_FITS.test(text);
  return (status === 503 || status === 529) && hasWait;
}

/** Whether another attempt may help. */
export function isOutage({ status, text }: Refusal): boolean {
  if (status === 408 || status === 409 || status === 425) return true;
  return status >= 500 && status !== 501 && status !== 505 && !CONTEXT_OVERFLOW.test(text);
}

export function refusesMaxTokens({ status, text }: Refusal): boolean {
  if (status !== 400 && status !== 422) return false;
  return (
    /max_completion_tokens/.test(text) && /max_tokens/.test(text) && /unsupported|not supported/i.test(text)
  );
}

/** Azure refuses a prompt with an error where others answer with an empty completion. */
export function isContentFilter({ status, text }: Refusal): boolean {
  return status === 400 && errorCodeOf(text) === 'content_filter';
}

/** The error for an answer that waiting does not change. */
export function refusalError(refusal: Refusal, to: Destination): DomainError {
  const { status, text } = refusal;
  const detail = detailOf(refusal, to);
  const where = `${to.address.shown}${to.path}`;
  if (status === 402 || (status === 429 && NO_MONEY.test(text))) {
    return new DomainError(
      'payment-required',
      `${where} asks for payment (${status}: ${detail}). Add credit to the account of its key.`,
    );
  }
  if (CONTEXT_OVERFLOW.test(text) && status !== 401 && status !== 403) {
    return new DomainError(
      'context-overflow',
      `The conversation and maxTokens do not fit the context of "${to.model}" at ${to.address.shown} (${status}: ${detail}). Lower maxTokens or shorten the prompt.`,
    );
  }
  if (status === 401 || status === 403)
    return unauthorized(where, { status, detail, hasKey: to.apiKey !== undefined });
  return new DomainError('request-failed', `${where} answers ${status}: ${detail}.${hintFor(refusal, to)}`, {
    category: status >= 500 ? 'server' : 'user',
  });
}

export function serverError(what: string, to: Destination): DomainError {
  return new DomainError('request-failed', `${to.address.shown}${to.path} ${what}`, { category: 'server' });
}

/** Some gateways report failures as answers: `200 {"error": {"code": 429, …}}`. */
export function refusalIn(answer: JsonObject, text: string): Refusal | null {
  if (!isObject(answer['error']) || listAt(answer, 'choices').length > 0) return null;
  const code = Number(answer['error']['code'] ?? answer['error']['status']);
  const status = Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500;
  return { status, text };
}

/** What the server says is wrong, cut short; it may quote the key it was given, and errors end up in logs. */
export function detailOf({ status, text }: Refusal, { apiKey }: Pick<Destination, 'apiKey'>): string {
  return hidden(wordsIn(withoutKeyInJson(text, { apiKey })), { apiKey }) || `status ${status}`;
}

function hidden(said: string, to: Pick<Destination, 'apiKey'>): string {
  const words = said.replace(/[\s\p{Cc}\uFFFD]+/gu, ' ').trim();
  const kept = withoutKeyInJson(words, to).replace(ANY_KEY, '…');
  return kept.length > LONGEST_DETAIL ? `${kept.slice(0, LONGEST_DETAIL)}…` : kept;
}

/** What a server says without the key that it was sent: it may repeat it. Shorter ones are no keys, and words besides. */
export function withoutKey(text: string, { apiKey }: Pick<Destination, 'apiKey'>): string {
  const key = apiKey?.trim() ?? '';
  return key.length < SHORTEST_KEY ? text : text.replaceAll(key, '…');
}

/** The same of JSON, in which a key can be written with escapes. */
export function withoutKeyInJson(text: string, to: Pick<Destination, 'apiKey'>): string {
  return withoutKey(text.includes('\\') ? text.replace(ESCAPE, unescaped) : text, to);
}

/** Characters that mean nothing in JSON, as themselves. */
function unescaped(escape: string, hex: string | undefined): string {
  if (hex === undefined) return escape === '\\/' ? '/' : escape;
  const character = String.fromCharCode(Number.parseInt(hex, 16));
  return PLAIN.test(character) ? character : escape;
}

function wordsIn(text: string): string {
  const parsed = objectIn(text);
  const error = parsed?.['error'];
  const words =
    textAt(error, 'message') ??
    (typeof error === 'string' ? error : null) ??
    textAt(parsed, 'message') ??
    textAt(parsed, 'detail');
  return (words ?? text).slice(0, 10 * LONGEST_DETAIL);
}

function errorCodeOf(text: string): string | null {
  return textAt(objectIn(text)?.['error'], 'code');
}

function unauthorized(
  where: string,
  { status, detail, hasKey }: { readonly status: number; readonly detail: string; readonly hasKey: boolean },
): DomainError {
  return new DomainError(
    'unauthorized',
    hasKey
      ? `${where} refuses the API key (${status}: ${detail}). OPENAI_API_KEY must be set to a key that is valid for it where the workers run; for a judge EVERSTEP_JUDGE_API_KEY, where that is set.`
      : `${where} needs an API key, and none was sent (${status}: ${detail}). OPENAI_API_KEY must be set where the workers run, and they must be told that this address may have it: give the command with their --data-dir, or start them with it in EVERSTEP_KEY_ADDRESSES.`,
  );
}

function hintFor({ status, location }: Refusal, to: Destination): string {
  const { address, model } = to;
  if (status >= 300 && status < 400 && location !== undefined) {
    return ` It sends on to ${hidden(location, to)}; give that address as the endpoint's URL.`;
  }
  if (status !== 404 && status !== 405) return '';
  return namesVersion(address)
    ? ` Check the endpoint's URL and that "${model}" is served there.`
    : ` The URL of most endpoints ends in /v1: try ${address.shown}/v1.`;
}
