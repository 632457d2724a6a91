import { resolve } from 'node:path';
import { DomainError } from '../core/errors';
import { nearestKey } from '../core/nearest-key';
import type { SampledSequence, SampleRequest, SampleResult } from '../core/sampling';
import type { Message } from '../core/conversation';
import type { SandboxFactory } from '../sandboxes/sandbox';
import { BENCHMARKS } from './benchmarks';
import type { BenchmarkBuilder, PluginBenchmarks } from './benchmarks';
import type { BenchmarkInput, GraderFunction } from './benchmarks/benchmark-input';
import { kindsOf } from './kinds/plugin-kinds';
import type { KindBuilder } from './kinds';
import type { Kind } from './kinds/kind';
import { messageOf } from './error-message';
import { completeBenchmark } from './benchmarks/complete-benchmark';
import { takenName } from './benchmarks/registered-benchmarks';
import type { OfOptions } from './of-options';
import { pluginDigest } from './plugin-digest';
import { importPluginFile } from './plugin-import';

export type PluginGrader = GraderFunction;

interface PluginCompletion {
  readonly text: string;
  readonly sequence: SampledSequence;
}

/** What an evaluator of kind `sampling` asks the model with. Answers are journalled: a retry never samples twice. */
export interface SamplingClient {
  /** The weights being measured. */
  readonly model: string;
  readonly checkpoint: string;
  /** Aborts when the evaluation is cancelled. */
  readonly signal: AbortSignal;
  sample(request: SampleRequest): Promise<SampleResult>;
  /** Asks with a conversation in the model's own prompt format. */
  complete(
    messages: readonly Message[],
    options?: {
      readonly maxTokens?: number;
      readonly temperature?: number;
      readonly topP?: number;
      readonly seed?: number;
    },
  ): Promise<PluginCompletion>;
}

/** An evaluator of one's own. It returns its metrics by name. */
export interface PluginEvaluator {
  readonly name: string;
  readonly kind: 'sampling' | 'training';
  evaluate(client: SamplingClient): Promise<Record<string, number>>;
}

/** Makes an evaluator from the `options` of the config. */
export type PluginEvaluatorBuilder = OfOptions<PluginEvaluator>;

/** What `everstep.config.ts` exports, as default or under these names. */
export interface Plugins {
  readonly graders?: Readonly<Record<string, PluginGrader>>;
  readonly evaluators?: Readonly<Record<string, PluginEvaluator | PluginEvaluatorBuilder>>;
  readonly benchmarks?: Readonly<Record<string, BenchmarkInput | OfOptions<BenchmarkInput>>>;
  /** Tasks made by `generation`, `teacherForced`, `perplexity` or `choiceByPerplexity`. */
  readonly kinds?: Readonly<Record<string, Kind | KindBuilder>>;
  /** Of reinforcement learning; checked when one is used. */
  readonly environments?: Readonly<Record<string, unknown>>;
  /** Losses of reinforcement learning: `(inputs, settings) => { loss, slopes }`. */
  readonly losses?: Readonly<Record<string, unknown>>;
  /** Rewards on top of an environment's own: `(played, { options, signal }) => grades`, one for each rollout of a problem. */
  readonly rewardShaping?: Readonly<Record<string, unknown>>;
  /** Makes the sandboxes of workers with this file, in place of ours. */
  readonly sandboxFactory?: SandboxFactory;
}

/** The names a plug-in file brings, and the hash by which workers compare theirs. */
export interface PluginRegistry extends PluginBenchmarks {
  /** SHA-256 of the file and of the local files it imports. */
  readonly hash: string | null;
  readonly graders: ReadonlyMap<string, PluginGrader>;
  readonly evaluators: ReadonlyMap<string, PluginEvaluatorBuilder>;
  readonly kinds: ReadonlyMap<string, KindBuilder>;
  readonly environments: ReadonlyMap<string, unknown>;
  readonly losses?: ReadonlyMap<string, unknown>;
  readonly rewardShaping?: ReadonlyMap<string, unknown>;
  readonly sandboxFactory?: SandboxFactory;
}

const MOST_LOADS = 3;

export const NO_PLUGINS: PluginRegistry = {
  file: null,
  hash: null,
  graders: new Map(),
  evaluators: new Map(),
  benchmarks: new Map(),
  environments: new Map(),
  kinds: new Map(),
};

/** Loads a plug-in file in TypeScript or JavaScript. It runs with all rights of this process. */
export async function loadPlugins(file: string): Promise<PluginRegistry> {
  const path = resolve(file);
  const { hash, exported } = await loadWhole(path);
  const problem = (what: string) =>
    new DomainError(
      'bad-plugin',
      `plugins: ${file} ${what}. Export { graders: { name: function }, evaluators: { name: evaluator }, benchmarks: { name: benchmark }, environments: { name: environment }, kinds: { name: task }, losses: { name: function }, rewardShaping: { name: function }, sandboxFactory: function }.`,
    );

  const graders = new Map<string, PluginGrader>();
  for (const [name, grader] of entriesOf(exported, 'graders', problem)) {
    if (!isGrader(grader)) throw problem(`has a grader "${name}" that is not a function`);
    graders.set(name, grader);
  }
  const evaluators = new Map<string, PluginEvaluatorBuilder>();
  for (const [name, evaluator] of entriesOf(exported, 'evaluators', problem)) {
    evaluators.set(
      name,
      builderOf(evaluator, (made) => problem(`has an evaluator "${name}" ${faultOf(made)}`)),
    );
  }
  const benchmarks = benchmarksOf(entriesOf(exported, 'benchmarks', problem), { file, hash });
  const environments = new Map(entriesOf(exported, 'environments', problem));
  const losses = new Map(entriesOf(exported, 'losses', problem));
  const rewardShaping = new Map(entriesOf(exported, 'rewardShaping', problem));
  const kinds = kindsOf(entriesOf(exported, 'kinds', problem), { file, hash });
  const sandboxFactory = sandboxFactoryOf(exported, problem);
  if (
    [graders, evaluators, benchmarks, environments, losses, rewardShaping, kinds].every(
      ({ size }) => size === 0,
    ) &&
    !sandboxFactory
  ) {
    throw problem('exports nothing that is known');
  }
  return {
    ...{ file, hash, graders, evaluators, benchmarks, environments, losses, rewardShaping, kinds },
    ...(sandboxFactory && { sandboxFactory }),
  };
}

/** A file that is written while it is loaded is loaded again: its digest is to be that of the code which runs. */
async function loadWhole(path: string): Promise<{ readonly hash: string; readonly exported: unknown }> {
  for (let left = MOST_LOADS; ; left--) {
    const hash = hashOf(path);
    const exported = await importPluginFile(path);
    if (hashOf(path) === hash) return { hash, exported };
    if (left === 0) throw new DomainError('bad-plugin', `plugins: ${path} is being written. Repeat this.`);
  }
}

/** A declaration is checked when the file is loaded, a function when it is called with its options. */
function benchmarksOf(
  entries: readonly [string, unknown][],
  origin: { readonly file: string; readonly hash: string },
): Map<string, BenchmarkBuilder> {
  return new Map(
    entries.map(([name, given]) => {
      if (BENCHMARKS.some((known) => known.name === name)) throw takenName(name, `plugins: ${origin.file}`);
      if (typeof given === 'function') {
        return [
          name,
          (options) => completeBenchmark(Reflect.apply(given, undefined, [options]), { name, ...origin }),
        ];
      }
      const benchmark = completeBenchmark(given, { name, ...origin });
      return [name, () => benchmark];
    }),
  );
}

export function findGrader(plugins: PluginRegistry, name: string): PluginGrader {
  return plugins.graders.get(name) ?? unknown('grader', name, plugins);
}

export function findEvaluator(plugins: PluginRegistry, name: string): PluginEvaluatorBuilder {
  return plugins.evaluators.get(name) ?? unknown('evaluator', name, plugins);
}

function unknown(kind: 'grader' | 'evaluator', name: string, plugins: PluginRegistry): never {
  const known = [...(kind === 'grader' ? plugins.graders : plugins.evaluators).keys()];
  const remedy =
    plugins.file === null
      ? 'No plug-in file is loaded: name it under "plugins" in the config.'
      : `${plugins.file} has: ${known.join(', ') || 'none'}.`;
  const meant = nearestKey(name, known);
  const hint = meant === undefined ? '' : `Did you mean "${meant}"? `;
  throw new DomainError('unknown-evaluator', `${kind}: unknown ${kind} "${name}". ${hint}${remedy}`);
}

function hashOf(path: string): string {
  try {
    return pluginDigest(path);
  } catch (error) {
    throw new DomainError(
      'bad-plugin',
      `plugins: ${messageOf(error)}. Give the path of a file of code, of at most 32 MiB.`,
      { cause: error },
    );
  }
}

function entriesOf(
  exported: unknown,
  key: string,
  problem: (what: string) => DomainError,
): [string, unknown][] {
  const value = propertyOf(exported, key);
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw problem(`has "${key}" that is no object`);
  return Object.entries(value);
}

function builderOf(value: unknown, problem: (made: unknown) => DomainError): PluginEvaluatorBuilder {
  if (isEvaluator(value)) return () => value;
  if (typeof value !== 'function') throw problem(value);
  return (options) => {
    const built: unknown = Reflect.apply(value, undefined, [options]);
    if (isEvaluator(built)) return built;
    throw problem(built);
  };
}

function sandboxFactoryOf(
  exported: unknown,
  problem: (what: string) => DomainError,
): SandboxFactory | undefined {
  const factory = propertyOf(exported, 'sandboxFactory');
  if (factory === undefined || isSandboxFactory(factory)) return factory;
  throw problem('has a sandboxFactory that is not a function');
}

/** What it makes is checked when it is called. */
function isSandboxFactory(value: unknown): value is SandboxFactory {
  return typeof value === 'function';
}

function isGrader(value: unknown): value is PluginGrader {
  return typeof value === 'function';
}

function isEvaluator(value: unknown): value is PluginEvaluator {
  return hasKind(value) && typeof propertyOf(value, 'evaluate') === 'function';
}

function hasKind(value: unknown): boolean {
  const kind = propertyOf(value, 'kind');
  return kind === 'sampling' || kind === 'training';
}

/** Of what is no evaluator. */
function faultOf(value: unknown): string {
  const kind = propertyOf(value, 'kind');
  if (hasKind(value)) return 'without a function evaluate';
  return kind === undefined
    ? "without kind: 'sampling'"
    : `whose kind is ${JSON.stringify(kind)}, not 'sampling'`;
}

function propertyOf(value: unknown, key: string): unknown {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
    ? Reflect.get(value, key)
    : undefined;
}
