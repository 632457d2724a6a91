import type { ErrorCode } from '../../core/errors';
import { DomainError } from '../../core/errors';

/** Failures that say nothing of the example: the attempt ends, and whoever comes next goes on from the journal. */
const WHOLE_CELL: readonly ErrorCode[] = [
  'superseded',
  'store-full',
  'store-conflict',
  'unreachable',
  'session-lost',
  'unauthorized',
  'payment-required',
  'over-budget',
  'interrupted',
  'checkpoint-missing',
  'unknown-checkpoint',
  'unknown-model',
  'unknown-evaluator',
];

/** How often a stage of an example is tried before its failure is a fact about the example. */
export const EXAMPLE_ATTEMPTS = 3;
const FIRST_WAIT_MS = 200;

export function isOfWholeCell(error: unknown): error is DomainError {
  return error instanceof DomainError && WHOLE_CELL.includes(error.code);
}

/** Asking again cannot help where the request itself is wrong. */
export function isFault(error: unknown): boolean {
  return error instanceof DomainError && error.category === 'user';
}

/** `attempt` counts from 1. */
export function waitBefore(attempt: number): number {
  return FIRST_WAIT_MS * 2 ** (attempt - 1);
}
