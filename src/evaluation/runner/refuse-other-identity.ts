import type { BenchmarkPlace } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { ResultIdentity } from '../../stores/eval-store';
import type { Making } from './option-differences';
import { differencesText, makingDifferences } from './option-differences';

/** Results of two makings must not share a folder: refused with each option that differs and both values. */
export function refuseOtherIdentity(
  { folder, benchmark }: BenchmarkPlace,
  there: Making,
  asked: Making,
): void {
  if (textOf(there.identity) === textOf(asked.identity)) return;
  throw new DomainError(
    'refused',
    `${benchmark} in ${folder} was begun with ${differencesText(makingDifferences(there, asked))}. ` +
      'Use another --run NAME or --output DIR, or ask as before.',
  );
}

/** Whatever the order of its keys. */
function textOf({ sampling, ...others }: ResultIdentity): string {
  const inner = Object.entries(sampling).map(([key, value]) => [`sampling.${key}`, value] as const);
  return JSON.stringify(
    [...Object.entries(others), ...inner].sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}
