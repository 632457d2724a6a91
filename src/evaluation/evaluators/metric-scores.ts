import { inspect } from 'node:util';
import { DomainError } from '../../core/errors';
import { problemOfNames } from '../../core/metric-names';
import type { CellScore } from '../../core/run';

const MOST_SHOWN = 80;

/** Scores of an evaluator of a person's own. A metric that is a whole key keeps it; its direction is not known. */
export function metricScores(name: string, metrics: unknown): CellScore[] {
  if (typeof metrics !== 'object' || metrics === null || Array.isArray(metrics)) {
    throw new DomainError(
      'bad-plugin',
      `Evaluator "${name}" returned ${shown(metrics)}. Return an object of numbers by name.`,
    );
  }
  const names = Object.keys(metrics);
  // Without a row nothing would say that it was measured, and it would be due again whenever its run goes on.
  if (names.length === 0)
    throw new DomainError(
      'bad-plugin',
      `Evaluator "${name}" returned no metric. Return one number at least, e.g. how much there was to measure.`,
    );
  const problem = problemOfNames(names);
  if (problem !== null) throw new DomainError('bad-plugin', `Evaluator "${name}": ${problem}.`);
  return Object.entries(metrics).map(([metric, value]: [string, unknown]) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new DomainError(
        'bad-plugin',
        `Evaluator "${name}" returned ${shown(value)} for "${metric}". Return numbers.`,
      );
    }
    const key = metric.includes('/') ? metric : `test/${name}/${metric}`;
    return { metric, key, value, stderr: null, n: 1, higherIsBetter: null };
  });
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0, breakLength: Infinity, customInspect: false }).slice(0, MOST_SHOWN);
}
