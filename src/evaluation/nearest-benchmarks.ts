import { nearestNames } from '../core/nearest-names';
import { BENCHMARKS } from './benchmarks';
import { KINDS } from './kinds';

/** Benchmarks and tasks whose names are most like the one asked for, most alike first. */
export function nearestBenchmarks(asked: string, count: number): string[] {
  const names = [...BENCHMARKS, ...KINDS].map(({ name }) => name);
  return nearestNames(asked.replaceAll('-', '_'), names, count);
}
