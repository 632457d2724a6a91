import { DomainError } from '../../core/errors';
import type { Benchmark } from './benchmark';
import type { BenchmarkInput } from './benchmark-input';
import { completeBenchmark } from './complete-benchmark';

/** Of the process, like the field's registry: a program that evaluates in itself has no plug-in file to name. */
const registered = new Map<string, Benchmark>();

/** Adds a benchmark for evaluations in this process. One of the same name that was added before is replaced. */
export function addBenchmark(
  { name, ...input }: BenchmarkInput & { readonly name: string },
  catalogue: readonly Benchmark[],
): Benchmark {
  if (catalogue.some((known) => known.name === name)) throw takenName(name, 'registerBenchmark');
  const benchmark = completeBenchmark(input, { name, file: null, hash: null });
  registered.set(name, benchmark);
  return benchmark;
}

export function registeredBenchmarks(): readonly Benchmark[] {
  return [...registered.values()];
}

export function takenName(name: string, where: string): DomainError {
  return new DomainError(
    'bad-plugin',
    `${where}: benchmark "${name}" has the name of one of the catalogue. Choose another name.`,
  );
}
