import type { EnvironmentConfig } from '../../config/environment-config';
import { countListed } from '../../core/bad-row-list';
import type { Completer } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import type { PluginBenchmarks } from '../../evaluation/benchmarks';
import { findBenchmark } from '../../evaluation/benchmarks';
import { gsm8k } from '../../evaluation/benchmarks/gsm8k';
import type { PluginKinds } from '../../evaluation/kinds';
import { findKind } from '../../evaluation/kinds';
import { findBoxes } from '../../evaluation/graders/boxed';
import { arithmeticEnvironments } from './arithmetic';
import { benchmarkEnvironments } from './benchmark-environments';
import { codeEnvironments } from './code-environments';
import type { EnvironmentDataset } from './environment-dataset';
import { createModelPlayer } from './games/answering-player';
import { twentyQuestions } from './games/twenty-questions';
import { instructionEnvironments } from './instruction-environments';
import { mathEnvironments } from './math-environments';
import type { JudgingSources } from './judged/judged-environments';
import { benchmarkJudges, judgedEnvironments } from './judged/judged-environments';
import type { MixturePart } from './mixture';
import { mixedEnvironments } from './mixture';
import type { PluginEnvironments } from './plugin-environments';
import { pluginEnvironments } from './plugin-environments';
import type { PythonAccess } from './python/python-environments';
import { pythonEnvironments } from './python/python-environments';
import { searchEnvironments } from './search/search-environments';
import { taskEnvironments } from './task-environments';

export interface EnvironmentSources {
  readonly readBenchmarkRows: ReadBenchmarkRows;
  readonly plugins: PluginBenchmarks & PluginEnvironments & Partial<PluginKinds>;
  /** Absent where there is no way to Python workers. */
  readonly python?: PythonAccess;
  /** Absent where there is no way to models that judge. */
  readonly judging?: JudgingSources;
  /** The run's; the built-in environments draw nothing themselves. */
  readonly seed: number;
  /** The other player of games, in place of the built-in one. */
  readonly opponent?: Completer;
}

/** The problems that a run trains on, as its config names them. Refused where there are none. */
export async function buildEnvironments(
  config: EnvironmentConfig,
  sources: EnvironmentSources,
): Promise<EnvironmentDataset> {
  const dataset = await datasetOf(config, sources);
  if (dataset.length > 0) return dataset;
  throw new DomainError(
    'bad-dataset',
    `environment: ${dataset.name} has no problem to train on${whyNone(dataset)}. Give more rows, or a smaller testSize.`,
  );
}

function datasetOf(
  config: EnvironmentConfig,
  sources: EnvironmentSources,
): EnvironmentDataset | Promise<EnvironmentDataset> {
  const { plugins, python } = sources;
  if (config.type === 'plugin') return pluginEnvironments(plugins, config);
  if (config.type === 'python') return pythonEnvironments(config, python);
  if (config.type === 'verifiers') return verifiersEnvironments(config, python);
  if (config.type === 'mixture') return mixtureOf(config, sources);
  if (config.type === 'modelGraded' || config.type === 'comparison')
    return judgedEnvironments(config, sources.judging);
  if (config.type === 'benchmark' || config.type === 'kind') return namedEnvironments(config, sources);
  return builtInEnvironments(config, sources);
}

type Named = Extract<EnvironmentConfig, { type: 'benchmark' | 'kind' }>;
type BuiltIn = Exclude<
  EnvironmentConfig,
  Named | { type: 'plugin' | 'python' | 'verifiers' | 'mixture' | 'modelGraded' | 'comparison' }
>;

/** What also measures, by the name it is measured under. */
async function namedEnvironments(
  config: Named,
  { readBenchmarkRows: read, plugins, judging }: EnvironmentSources,
): Promise<EnvironmentDataset> {
  if (config.type === 'benchmark') {
    const benchmark = findBenchmark(config.benchmark, plugins, config.options);
    const judges = await benchmarkJudges(config.judge, judging);
    const dataset = await benchmarkEnvironments(benchmark, { ...config, judges }, read);
    return judges ? { ...dataset, judges } : dataset;
  }
  const kinds = { kinds: plugins.kinds ?? new Map<string, never>() };
  return taskEnvironments(findKind(config.task, kinds, config.options), config, read);
}

function builtInEnvironments(
  config: BuiltIn,
  { readBenchmarkRows: read, opponent }: EnvironmentSources,
): EnvironmentDataset | Promise<EnvironmentDataset> {
  switch (config.type) {
    case 'arithmetic':
      return arithmeticEnvironments(config);
    case 'gsm8k':
      return benchmarkEnvironments(gsm8k, { ...config, ...BOXED_TRAINING }, read);
    case 'math':
      return mathEnvironments(config, read);
    case 'code':
      return codeEnvironments(config, read);
    case 'ifeval':
      return instructionEnvironments(config, read);
    case 'search':
      return searchEnvironments(config);
    case 'twenty_questions':
      return twentyQuestions({ ...config, ...(opponent && { player: createModelPlayer(opponent) }) });
  }
}

async function mixtureOf(
  { parts }: Extract<EnvironmentConfig, { type: 'mixture' }>,
  sources: EnvironmentSources,
): Promise<EnvironmentDataset> {
  const built: MixturePart[] = [];
  for (const { environment, weight, name = nameOf(environment) } of parts) {
    built.push({ name, weight, dataset: await buildEnvironments(environment, sources) });
  }
  return mixedEnvironments(built);
}

/** Environments of somebody's own are called as there. */
function nameOf(environment: EnvironmentConfig): string {
  const isOwn = environment.type === 'plugin' || environment.type === 'python';
  return isOwn ? environment.environment : environment.type;
}

/** `examples/verifiers` registers one environment, which loads any of the package by id and arguments. */
function verifiersEnvironments(
  { id, arguments: given, testSize, limit, taskQueue }: Extract<EnvironmentConfig, { type: 'verifiers' }>,
  python: PythonAccess | undefined,
): Promise<EnvironmentDataset> {
  return pythonEnvironments(
    { testSize, limit, taskQueue, environment: 'verifiers', options: { id, args: given } },
    python,
  );
}

/** The benchmark's own examples are the test set. */
const BOXED_TRAINING = { split: 'train', testSize: 0, checkFormat: isBoxed };

function isBoxed(completion: string): boolean {
  return findBoxes(completion).length > 0;
}

function whyNone({ leftOut = [] }: EnvironmentDataset): string {
  const [first] = leftOut;
  if (first === undefined) return '';
  const count = countListed(leftOut);
  const rows = count === 1 ? '1 row is' : `${count} rows are`;
  return `: ${rows} left out, the first, ${first.place.text}, because ${first.reason.replace(/\.$/, '')}`;
}
