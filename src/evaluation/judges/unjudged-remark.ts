import type { StoredResult } from '../../stores/eval-store';

/** From this share of answers on a score says less of the answers than of their length. */
const LEAST_SHARE = 0.5;

/** What a judged score does not say where at least half of its answers were cut off, and count 0 without a judge; else null. */
export function unjudgedRemark({
  num_truncated: cutCount,
  num_examples: count,
  identity: { judges = [], sampling },
}: StoredResult): string | null {
  if (judges.length === 0 || cutCount === 0 || cutCount < LEAST_SHARE * count) return null;
  const { maxTokens } = sampling;
  const where =
    typeof maxTokens === 'number' ? `maxTokens ${maxTokens} or the model’s context` : 'their limit';
  return `${cutCount} of ${count} answers were cut off at ${where} and count 0: no judge was asked`;
}
