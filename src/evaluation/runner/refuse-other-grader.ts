import { DomainError } from '../../core/errors';
import type { Benchmark } from '../benchmarks/benchmark';
import type { BenchmarkPlan } from './benchmark-plan';

/** A plug-in file, or a release of ours, may change between two shards: what the plan says of its grader would not be true. */
export function refuseOtherGrader(
  { benchmark, identity: { graderVersion }, request: { run, folder } }: BenchmarkPlan,
  { grader }: Benchmark,
): void {
  if (grader.version === graderVersion) return;
  throw new DomainError(
    'refused',
    `${benchmark} in ${folder} was planned with the grader "${graderVersion}", and this worker has "${grader.version}". ` +
      `Put the plug-in file back, or grade what is answered with: everstep results regrade ${run}. Then give the same command again.`,
  );
}
