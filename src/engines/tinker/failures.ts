import { DomainError } from '../../core/errors';
import type { DomainErrorOptions } from '../../core/errors';
import { isObject } from './codec/json-values';
import type { HttpReply } from './transport';

/** What a call was about, for its error. */
export interface Subject {
  /** E.g. `forward_backward 12 of model x`. */
  readonly what: string;
  /** What a 404 or 410 means here. */
  readonly missing: 'session-lost' | 'checkpoint-missing' | 'engine-refused';
}

/** Servers after a restart fail requests for models they no longer hold with words alone. */
const LOST = /not loaded|was unloaded|stale request|(model|session)\b.* not found/i;
const UNKNOWN_MODEL = /(unknown|unsupported|invalid) (base )?model|base model .* not (supported|available)/i;
const NAMES_SESSION = /^(model|session|sampling session|future|request)\b/i;
const NO_CHECKPOINT =
  /(checkpoint|weights|path)\b.*(not found|missing|does not exist|no such)|(no such|unknown) checkpoint/i;
/** A request that is itself at fault may lack a field `weights` or a `path`. */
const NAMES_CHECKPOINT = /checkpoint|tinker:\/\//i;

/** The words of the usual web frameworks. */
const NO_ROUTE = /^(not found(:.*)?|status 404|route .* not found)$/i;

/** The error for an answer that is neither a result nor to be waited out. */
export function failureOf(reply: HttpReply, subject: Subject): DomainError {
  const detail = detailOf(reply);
  if (reply.status === 401 || reply.status === 403) return unauthorized(reply.status, detail);
  if (reply.status === 404 || reply.status === 410) return missing(subject, detail);
  return requestFailed(subject, detail, reply.status === 422 || reply.status === 413 ? 'user' : 'unknown');
}

export function requestFailed(
  subject: Subject,
  detail: string,
  category: NonNullable<DomainErrorOptions['category']>,
): DomainError {
  const isCheckpoint = NO_CHECKPOINT.test(detail) && (category !== 'user' || NAMES_CHECKPOINT.test(detail));
  if (LOST.test(detail) || isCheckpoint) return missing({ ...subject, missing: 'session-lost' }, detail);
  if (UNKNOWN_MODEL.test(detail)) {
    return new DomainError('unknown-model', `The training service refuses ${subject.what}: ${detail}`);
  }
  return new DomainError('request-failed', `The training service failed ${subject.what}: ${detail}`, {
    category,
  });
}

/**
 * What the server said went wrong: `detail`, `error` or `message`, as a text or as a list of field errors. Servers may quote the key
 * they were given, and errors end up in logs.
 */
function detailOf({ status, body }: HttpReply): string {
  const text = body.toString('utf8').replace(/(tml-|eyJ)[\w.-]+/g, '$1…');
  const parsed = parsedOrNull(text);
  const detail = isObject(parsed) ? (parsed['detail'] ?? parsed['error'] ?? parsed['message']) : undefined;
  if (typeof detail === 'string' && detail !== '') return detail;
  if (Array.isArray(detail)) return detail.map(fieldError).join('; ');
  return text.trim() === '' ? `status ${status}` : `status ${status} ${text.slice(0, 300)}`;
}

/** Whether the server does not have the route at all, as opposed to the thing asked for. */
export function isRouteMissing(reply: HttpReply): boolean {
  if (reply.status === 405 || reply.status === 501) return true;
  return reply.status === 404 && NO_ROUTE.test(detailOf(reply));
}

function missing(subject: Subject, detail: string): DomainError {
  const isCheckpoint = NO_CHECKPOINT.test(detail) && !NAMES_SESSION.test(detail);
  const code = isCheckpoint ? 'checkpoint-missing' : subject.missing;
  switch (code) {
    case 'checkpoint-missing':
      return new DomainError(
        code,
        `${subject.what}: the training service does not have that checkpoint (${detail}). It may have expired or been deleted; choose another one.`,
      );
    case 'session-lost':
      return new DomainError(
        code,
        `The training service no longer knows the state that ${subject.what} needs (${detail}). Go on from the last checkpoint in a new session.`,
      );
    case 'engine-refused':
      return new DomainError(
        code,
        `${subject.what}: the training service answers "${detail}". Check the engine's URL.`,
      );
  }
}

function unauthorized(status: number, detail: string): DomainError {
  return new DomainError(
    'unauthorized',
    `The training service refused the API key (${status}: ${detail}). Set TINKER_API_KEY to a key that is valid for it, where workers run too.`,
  );
}

function fieldError(item: unknown): string {
  if (!isObject(item)) return String(item);
  const place = Array.isArray(item['loc']) ? item['loc'].join('.') : '';
  return `${place}: ${typeof item['msg'] === 'string' ? item['msg'] : JSON.stringify(item)}`;
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
