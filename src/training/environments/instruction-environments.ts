import { ifeval } from '../../evaluation/benchmarks/ifeval';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import type { Score } from '../../evaluation/graders/grader';
import type { BenchmarkEnvironmentOptions } from './benchmark-environments';
import { benchmarkEnvironments } from './benchmark-environments';
import type { EnvironmentDataset } from './environment-dataset';

export interface InstructionOptions extends Omit<BenchmarkEnvironmentOptions, 'split'> {
  /** `all`: 1 when every instruction is followed. `fraction`: the share that is, a reward for coming closer. */
  readonly reward: 'all' | 'fraction';
}

/** Instructions that a program can check, with IFEval's own checks as the reward. Any text is in the right form. */
export function instructionEnvironments(
  { reward, ...options }: InstructionOptions,
  read: ReadBenchmarkRows,
): Promise<EnvironmentDataset> {
  const own = {
    ...options,
    split: 'train',
    formatPenalty: 0,
    ...(reward === 'fraction' && { rewardOf: followedFraction }),
  };
  return benchmarkEnvironments(ifeval, own, read);
}

function followedFraction({ answer, metrics = {} }: Score): number {
  const { followed_strict: followed = 0, instructions = 0 } = metrics;
  return answer === null || instructions === 0 ? 0 : followed / instructions;
}
