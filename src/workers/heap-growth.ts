import { setFlagsFromString } from 'node:v8';

/** Percent of what is live that may be allocated before the old part of the heap is collected again. */
const GROWTH_PERCENT = 35;

/**
 * Has a process with roles that evaluate collect its garbage early.
 *
 * What belongs to an example outlives the young part of the heap while its answer is waited for, and is garbage soon after.
 * Node lets the old part grow to four times of what is live before it looks. The limit here is relative: an evaluation of
 * long answers has as much memory as it needs.
 */
export function collectEarly(roles: readonly string[]): void {
  if (roles.length === 0 || roles.some(isOfEvaluations))
    setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

function isOfEvaluations(role: string): boolean {
  return role !== 'workflows' && role !== 'training';
}
