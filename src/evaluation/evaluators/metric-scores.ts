import { DomainError } from '../../core/errors';
import type { CellScore } from '../../core/run';

/** Scores of an evaluator of a person's own. A metric that is a whole key keeps it; its direction is not known. */
export function metricScores(name: string, metrics: Readonly<Record<string, unknown>>): CellScore[] {
  return Object.entries(metrics).map(([metric, value]) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new DomainError(
        'bad-plugin',
        `Evaluator "${name}" returned ${String(value)} for "${metric}". Return numbers.`,
      );
    }
    const key = metric.includes('/') ? metric : `test/${name}/${metric}`;
    return { metric, key, value, stderr: null, n: 1, higherIsBetter: null };
  });
}
