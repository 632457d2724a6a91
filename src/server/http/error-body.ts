import { asCalled } from '../../config/how-called';
import { z } from 'zod';
import { hasErrorCode } from '../../core/error-code';
import type { ErrorCode } from '../../core/errors';
import { DomainError } from '../../core/errors';
import { RequestError } from './request-error';

/** The shape that clients of the OpenAI API read; every route answers with it. */
export const ErrorBody = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: 'Error', description: 'Why a request was not answered, and what to do about it' });
export type ErrorBody = z.infer<typeof ErrorBody>;

export interface HttpFailure {
  readonly status: number;
  readonly body: ErrorBody;
  readonly retryAfterSeconds: number | null;
  /** Nobody foresaw it: the log says what it was. */
  readonly isUnexpected: boolean;
}

interface Rule {
  readonly status: number;
  /** OpenAI's name for it, where it has one. */
  readonly code?: string;
  readonly retryAfterSeconds?: number;
}

const BAD: Rule = { status: 400 };
const BROKEN: Rule = { status: 502 };

const RULES: Readonly<Partial<Record<ErrorCode, Rule>>> = {
  'bad-config': BAD,
  'bad-dataset': BAD,
  'unknown-renderer': BAD,
  'context-overflow': { status: 400, code: 'context_length_exceeded' },
  'unknown-run': { status: 404 },
  'unknown-checkpoint': { status: 404 },
  'unknown-model': { status: 404, code: 'model_not_found' },
  'checkpoint-missing': { status: 404, code: 'model_not_found' },
  refused: { status: 422 },
  'payment-required': { status: 402, code: 'insufficient_quota' },
  'engine-busy': { status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: 2 },
  'timed-out': { status: 504 },
  unreachable: { status: 503, retryAfterSeconds: 5 },
  'temporal-unavailable': { status: 503, retryAfterSeconds: 5 },
  'store-full': { status: 507 },
  'store-conflict': { status: 409 },
  'record-changed': { status: 409 },
  unauthorized: BROKEN,
  'engine-refused': BROKEN,
  'session-lost': BROKEN,
  'protocol-error': BROKEN,
  'checkpoint-damaged': BROKEN,
};

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

export function failureOf(error: unknown): HttpFailure {
  if (error instanceof RequestError) {
    const { status, message, param, code, retryAfterSeconds } = error;
    return { status, body: bodyOf(status, { message, param, code }), retryAfterSeconds, isUnexpected: false };
  }
  if (error instanceof DomainError) return domainFailure(error);
  return httpFailure(error) ?? unexpected();
}

function domainFailure(error: DomainError): HttpFailure {
  const { status, code = error.code, retryAfterSeconds = null } = ruleOf(error);
  const body = bodyOf(status, { message: asCalled(error.message), param: null, code });
  return { status, body, retryAfterSeconds, isUnexpected: false };
}

function ruleOf({ code, category }: DomainError): Rule {
  if (code === 'request-failed') return category === 'user' ? BAD : BROKEN;
  return RULES[code] ?? { status: 500 };
}

/** What the web framework refuses: no JSON, another content type, too large. */
function httpFailure(error: unknown): HttpFailure | null {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return null;
  const { statusCode: status } = error;
  if (typeof status !== 'number' || status < 400 || status > 499) return null;
  const body = bodyOf(status, { message: messageOf(error, status), param: null, code: null });
  return { status, body, retryAfterSeconds: null, isUnexpected: false };
}

function messageOf(error: object, status: number): string {
  if (hasErrorCode(error, 'FST_ERR_CTP_INVALID_MEDIA_TYPE')) {
    return 'The content type has to be application/json.';
  }
  // Of what was sent nothing is quoted.
  if (hasErrorCode(error, 'FST_ERR_BAD_URL')) return 'The address cannot be decoded.';
  if (hasErrorCode(error, 'FST_ERR_MAX_PARAM_LENGTH')) return 'A part of the address is too long.';
  if (status === 413) return 'The body is too large: at most 4 MB are taken.';
  if (hasErrorCode(error, 'FST_ERR_CTP_EMPTY_JSON_BODY')) return 'The body is empty; send a JSON object.';
  return status === 400 ? 'The body is not valid JSON.' : `The request was refused (${status}).`;
}

function unexpected(): HttpFailure {
  const message = 'Something went wrong here that nobody foresaw; the log of the server says what.';
  return {
    status: 500,
    body: bodyOf(500, { message, param: null, code: null }),
    retryAfterSeconds: null,
    isUnexpected: true,
  };
}

function bodyOf(
  status: number,
  { message, param, code }: Pick<ErrorBody['error'], 'message' | 'param' | 'code'>,
): ErrorBody {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  return { error: { message, type, param, code } };
}
