import { DomainError } from '../../core/errors';
import { BENCHMARKS, findBenchmark } from '../../evaluation/benchmarks';
import { KINDS, lookUpKind } from '../../evaluation/kinds';
import { nearestBenchmarks } from '../../evaluation/nearest-benchmarks';

const MOST_NEAREST = 2;

/** Names that are no benchmark's of the catalogue: tasks, other spellings, and what a plug-in file may bring. */
export function lookUpName(name: string, plugins: string | undefined): string {
  const kind = lookUpKind(name);
  if (kind) return kind.name;
  try {
    return findBenchmark(name).name;
  } catch (error) {
    if (plugins === undefined) throw withNearest(error, name);
    return name;
  }
}

/** A name that was mistyped is near the one that was meant. */
export function withNearest(error: unknown, name: string): unknown {
  if (!(error instanceof DomainError) || error.code !== 'unknown-benchmark') return error;
  const nearest = nearestBenchmarks(name, MOST_NEAREST).join(' or ');
  const benchmarks = BENCHMARKS.map(({ name }) => name).join(', ');
  const tasks = KINDS.map(({ name }) => name).join(', ');
  const message = error.message
    .replace(/Nearest: .*?\. Known/, `Nearest: ${nearest}. Known`)
    .replace(benchmarks, `${benchmarks}; tasks: ${tasks}`);
  return new DomainError('unknown-benchmark', message);
}
