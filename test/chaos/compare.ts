import type { Outcome } from './outcome';

const MOST_LINES = 3;
const LONGEST_LINE = 160;

/** What differs between a run and its undisturbed twin, in words; empty where nothing does. */
export function findDifferences(run: Outcome, reference: Outcome): string[] {
  return Object.entries(reference).flatMap(([aspect, expected]) => {
    const found = run[aspect as keyof Outcome];
    if (found.join('\n') === expected.join('\n')) return [];
    return [`${aspect}: ${describe(found, expected)}`];
  });
}

function describe(found: readonly string[], expected: readonly string[]): string {
  const missing = subtract(expected, found);
  const extra = subtract(found, expected);
  if (missing.length + extra.length === 0) return `the same ${found.length} lines in another order`;
  return [...excerpt('missing', missing), ...excerpt('instead', extra)].join('; ');
}

function excerpt(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  return [`${lines.length} ${title}: ${shown.join(' | ')}`];
}

/** With multiplicity: a doubled line is extra. */
function subtract(lines: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0;
    counts.set(line, count - 1);
    return count <= 0;
  });
}

/** What must hold of any run, whatever its reference says. */
export function findViolations({ metrics, scores }: Outcome, steps: number): string[] {
  const violations: string[] = [];
  const found = metrics.filter((line) => line !== '').map((line) => stepOf(line));
  const expected = Array.from({ length: steps }, (_, index) => index + 1);
  if (found.join() !== expected.join()) {
    const missing = expected.filter((step) => !found.includes(step));
    const doubled = found.filter((step, index) => found.indexOf(step) !== index);
    violations.push(
      `metrics.jsonl: ${found.length} rows, missing [${missing.join()}], doubled [${doubled.join()}]`,
    );
  }
  const identities = scores.map(identityOf);
  const doubled = identities.filter((identity, index) => identities.indexOf(identity) !== index);
  if (doubled.length > 0)
    violations.push(`scores.jsonl: doubled ${doubled.slice(0, MOST_LINES).join(' | ')}`);
  const failed = scores.filter((line) => line.includes('"metric":"error"'));
  if (failed.length > 0) violations.push(`scores.jsonl: failed ${failed.slice(0, MOST_LINES).join(' | ')}`);
  return violations;
}

function stepOf(line: string): unknown {
  return (JSON.parse(line) as { step: unknown }).step;
}

function identityOf(line: string): string {
  const { step, schedule, evaluator, metric } = JSON.parse(line) as Record<string, unknown>;
  return [step, schedule, evaluator, metric].join('/');
}
