import type { CanaryReport, CanaryScore, WebhookTry } from '../core/canary';
import { DEEPEST_JSON, isDeeperThan } from '../core/json-depth';
import { isRecord } from './json-lines';
import { isInterval, isNumber, isNumberOrNone } from './result-types';

/** The firing that others are held against, and what it measured. */
export interface StoredPin {
  readonly at: string;
  readonly evalRun: string;
  readonly dir: string;
  /** Digest of what was asked: a schedule of the same name that asks something else pins anew. */
  readonly asked: string;
  readonly scores: Readonly<Record<string, { readonly score: number; readonly stderr: number | null }>>;
}

/** Whether what lies in a schedule's folder has the types that it is sorted, shown and compared by: people copy and send such folders. */
export function isFiring(row: Partial<CanaryReport>): boolean {
  const { at, evalRun, schedule, dir, alarm, scores } = row;
  if (isDeeperThan(row, DEEPEST_JSON)) return false;
  return (
    areTexts([at, evalRun, schedule, dir]) &&
    typeof alarm === 'boolean' &&
    Array.isArray(scores) &&
    scores.every(isScore)
  );
}

export function isWebhookTry({ at, evalRun, attempt, told, reason }: Partial<WebhookTry>): boolean {
  return areTexts([at, evalRun, reason ?? '']) && isNumber(attempt) && typeof told === 'boolean';
}

/** What of a pin is not as it has to be; null where it is. */
export function pinFault(pin: Partial<StoredPin>): string | null {
  const wrong = (['at', 'evalRun', 'dir', 'asked'] as const).find((name) => typeof pin[name] !== 'string');
  if (wrong !== undefined) return `"${wrong}" has to be a text`;
  const { scores } = pin;
  const areScores = isRecord(scores) && Object.values(scores).every(isPinnedScore);
  return areScores ? null : '"scores" has to hold a score and its standard error for each benchmark';
}

function isPinnedScore(value: Partial<StoredPin['scores'][string]> | null): boolean {
  return isRecord(value) && isNumber(value.score) && isNumberOrNone(value.stderr ?? null);
}

function isScore(value: Partial<CanaryScore> | null): boolean {
  if (!isRecord(value)) return false;
  const { benchmark, verdict, reason, method, interval, numExamples, numErrors } = value;
  const { score, stderr, pinned, difference } = value;
  return (
    areTexts([benchmark, verdict, reason, method ?? '']) &&
    [score, stderr, pinned, difference].every((number) => isNumberOrNone(number ?? null)) &&
    isNumber(numExamples) &&
    isNumber(numErrors) &&
    isInterval(interval ?? null)
  );
}

function areTexts(values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string');
}
