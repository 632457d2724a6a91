import { DEEPEST_JSON, isDeeperThan } from '../core/json-depth';
import type { ResultIdentity, StoredResult } from './eval-files';
import { isRecord } from './json-lines';

/*
 * Whether what lies in a file of results has the types that readers show, sort and compare by. Other tools write such files too,
 * and people copy and edit them.
 */

const COUNTS = [
  ...(['score', 'num_examples', 'num_correct', 'num_errors', 'num_truncated'] as const),
  'time_seconds',
] as const;
const NUMBERS_OR_NONE = ['stderr', 'score_completed', 'num_completed', 'num_clusters'] as const;
const IDENTITY_TEXTS = [
  ...(['dataHash', 'promptHash', 'graderVersion', 'model', 'checkpoint'] as const),
  ...(['startDate', 'endDate'] as const),
] as const;

const WHOLE_IDENTITY = [
  ...(['dataHash', 'promptHash', 'graderVersion', 'model', 'checkpoint'] as const),
  ...(['benchmarkVersion', 'sampling'] as const),
] as const;

export function hasTypesOfResult(result: Partial<StoredResult>): boolean {
  return !isDeeperThan(result, DEEPEST_JSON) && hasTypes(result);
}

function hasTypes(result: Partial<StoredResult>): boolean {
  const { name = '', ci = null, regraded = [] } = result;
  return (
    typeof name === 'string' &&
    [...COUNTS, ...NUMBERS_OR_NONE].every((key) => isNumber(result[key] ?? 0)) &&
    isInterval(ci) &&
    [result.metrics, result.pass_at_k].every((numbers) => areNumbers(numbers ?? {})) &&
    areRegradings(regraded) &&
    isIdentity(result.identity ?? {})
  );
}

function areRegradings(regraded: NonNullable<StoredResult['regraded']>): boolean {
  return Array.isArray(regraded) && regraded.every(isRegrading);
}

export function isInterval(ci: unknown): boolean {
  return ci === null || (Array.isArray(ci) && ci.length === 2 && ci.every(isNumber));
}

function areNumbers(numbers: object): boolean {
  return isRecord(numbers) && Object.values(numbers).every(isNumberOrNone);
}

function isIdentity(identity: Partial<StoredResult['identity']>): boolean {
  return (
    isRecord(identity) &&
    IDENTITY_TEXTS.every((key) => typeof (identity[key] ?? '') === 'string') &&
    isNumber(identity.benchmarkVersion ?? 0) &&
    isRecord(identity.sampling ?? {})
  );
}

/** Of a plan, with which results are compared: what it is made of is all there. */
export function isWholeIdentity(identity: unknown): boolean {
  if (!isRecord(identity) || !isIdentity(identity)) return false;
  const said: Partial<ResultIdentity> = identity;
  return WHOLE_IDENTITY.every((key) => (said[key] ?? null) !== null);
}

function isRegrading(regrading: NonNullable<StoredResult['regraded']>[number]): boolean {
  if (!isRecord(regrading) || !isRecord(regrading.before)) return false;
  const { at, grader, before } = regrading;
  const texts = [at, grader, before.grader, before.folder ?? ''];
  return texts.every((text) => typeof text === 'string') && isNumberOrNone(before.score);
}

/** JSON's `1e400` is read as infinite, which no score or count is. */
export function isNumber(value: unknown): boolean {
  return Number.isFinite(value);
}

export function isNumberOrNone(value: unknown): boolean {
  return value === null || isNumber(value);
}
