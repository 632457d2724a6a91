import type { TrainingConfigInput } from '../config/training-config';
import type { BenchmarkInput } from '../evaluation/benchmarks/benchmark-input';
import type { OfOptions } from '../evaluation/of-options';
import type { Plugins as EvaluationPlugins } from '../evaluation/plugins';
import type { PluginEnvironment } from '../training/environments/plugin-environments';
import type { RewardShaping } from '../training/environments/reward-shaping';
import type { SequenceLoss } from '../training/reinforcement/derived-loss';

/** What `everstep.config.ts` exports, as default or under these names. */
export interface Plugins extends EvaluationPlugins {
  /** Of reinforcement learning. */
  readonly environments?: Readonly<Record<string, PluginEnvironment | OfOptions<PluginEnvironment>>>;
  /** Losses of reinforcement learning: what a sequence loses, and the slopes of that by its log-probabilities. */
  readonly losses?: Readonly<Record<string, SequenceLoss>>;
  /** Rewards on top of an environment's own, one for each rollout of a problem. */
  readonly rewardShaping?: Readonly<Record<string, RewardShaping>>;
}

/** A config that is checked while it is written, misspelt keys as well. Returns it as it is. */
export function defineConfig(config: TrainingConfigInput): TrainingConfigInput {
  return config;
}

/** Keys that are none of `Known`, as what no value can be. */
type NoOthers<Given, Known> = { readonly [Key in Exclude<keyof Given, keyof Known>]: never };

/** Benchmarks by name; those that `options` of a config make are checked where they are made. */
type OwnBenchmarks<Given> = {
  readonly [Name in keyof Given]: Given[Name] extends (...options: never[]) => unknown
    ? Given[Name]
    : Given[Name] & NoOthers<Given[Name], BenchmarkInput>;
};

/** What a plug-in file exports as default, checked while it is written, misspelt keys as well. Returns it as it is. */
export function definePlugins<const Defined extends Plugins>(
  plugins: Defined &
    NoOthers<Defined, Plugins> & { readonly benchmarks?: OwnBenchmarks<Defined['benchmarks']> },
): Defined {
  return plugins;
}

/** An environment of a plug-in file, checked while it is written; the type of its problems comes from `problems`. Returns it as it is. */
export function defineEnvironment<Problem>(
  environment: PluginEnvironment<Problem>,
): PluginEnvironment<Problem> {
  return environment;
}
