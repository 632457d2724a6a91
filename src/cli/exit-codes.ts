import type { ErrorCode } from '../core/errors';
import { DomainError } from '../core/errors';

export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** What the person asked for cannot be done as asked: exit 2. Everything else that goes wrong is exit 1. */
const USAGE_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'bad-config',
  'bad-dataset',
  'bad-plugin',
  'refused',
  'run-exists',
  'unknown-benchmark',
  'unknown-checkpoint',
  'unknown-evaluator',
  'unknown-model',
  'unknown-renderer',
  'unknown-run',
]);

export function exitCodeOf(error: unknown): number {
  if (!(error instanceof DomainError)) return EXIT.failed;
  if (error.code === 'interrupted') return EXIT.interrupted;
  return USAGE_ERRORS.has(error.code) ? EXIT.usage : EXIT.failed;
}

export interface Refusal {
  readonly code: string | null;
  readonly message: string;
}

/** What a worker refused is the same to a person as what this process refuses. */
export function refusalOf({ code, message }: Refusal): Error {
  const usage = [...USAGE_ERRORS].find((known) => known === code);
  return usage ? new DomainError(usage, message) : new DomainError('request-failed', message);
}
