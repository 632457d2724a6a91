import { DomainError } from '../../core/errors';
import { arithmetic } from './arithmetic';
import type { Benchmark } from './benchmark';

export const BENCHMARKS: readonly Benchmark[] = [arithmetic];

/** Names are written with underscores; hyphens are accepted. */
export function findBenchmark(name: string): Benchmark {
  const benchmark = BENCHMARKS.find((known) => known.name === name.replaceAll('-', '_'));
  if (benchmark) return benchmark;
  throw new DomainError(
    'unknown-benchmark',
    `Unknown benchmark "${name}". Known: ${BENCHMARKS.map((known) => known.name).join(', ')}.`,
  );
}
