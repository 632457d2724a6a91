import { DomainError } from '../../../core/errors';

/** The time that a row may take grows with its tests. Rows that people train on have some hundred, a few more than a thousand. */
const MOST_TESTS = 10_000;

/** Refuses a row whose tests would hold a sandbox for days. */
export function requireFewTests(count: number): void {
  if (count <= MOST_TESTS) return;
  throw new DomainError(
    'bad-dataset',
    `A row of code has ${count} tests, and a row may have ${MOST_TESTS}: each may take seconds. Keep those that tell programs apart.`,
  );
}
