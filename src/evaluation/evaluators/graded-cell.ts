import type { EvaluatorConfig } from '../../config/evaluation-config';
import { DomainError } from '../../core/errors';
import { shuffledIndices } from '../../core/random';
import type { CellScore } from '../../core/run';
import type { ConversationRow } from '../../datasets/dataset';
import { writeBenchmark } from '../../stores/eval-store';
import { findBenchmark } from '../benchmarks';
import { digestOf } from '../digest';
import type { Example } from '../example';
import { withUniqueIds } from '../example';
import type { Grader, Score } from '../graders/grader';
import type { PluginRegistry } from '../plugins';
import { findGrader } from '../plugins';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import type { GradedExample, GradedWork } from './graded-examples';
import { gradeExamples } from './graded-examples';
import { resultOf, trajectoriesOf } from './graded-result';

type BenchmarkConfig = Extract<EvaluatorConfig, { type: 'benchmark' }>;
type CustomConfig = Extract<EvaluatorConfig, { type: 'custom' }>;

/** Defaults of the field for benchmarks that do not say. */
const GENERATION = { maxTokens: 32_768, temperature: 0.6, topP: 1 };

/** Scores a benchmark of the catalogue and writes its result and trajectories to the cell's folder. */
export async function evaluateBenchmark(
  dependencies: EvaluationDependencies,
  config: BenchmarkConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const benchmark = findBenchmark(config.benchmark);
  const graded = {
    examples: benchmark.examples().slice(0, config.maxExamples),
    grader: benchmark.grader,
    generation: generationOf(config, benchmark.generation),
    systemPrompt: config.systemPrompt,
    concurrency: config.concurrency,
  };
  return scoreCell(dependencies, { graded, version: benchmark.version }, work);
}

/** Scores completions of a dataset with a grader of the plug-in file; the last reply of each conversation is the target. */
export async function evaluateCustom(
  dependencies: EvaluationDependencies,
  config: CustomConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const grader = pluginGrader(dependencies.plugins, config.grader);
  const { rows } = await dependencies.loadDataset(config.dataset);
  const order =
    config.maxExamples === undefined
      ? rows.keys()
      : shuffledIndices(rows.length, 0).slice(0, config.maxExamples);
  const examples = withUniqueIds([...order].flatMap((index) => rows[index] ?? []).map(exampleOf));
  const graded = {
    examples,
    grader,
    generation: generationOf(config, GENERATION),
    systemPrompt: config.systemPrompt,
    concurrency: config.concurrency,
  };
  return scoreCell(dependencies, { graded, version: 1 }, work);
}

async function scoreCell(
  dependencies: EvaluationDependencies,
  { graded, version }: { readonly graded: GradedWork; readonly version: number },
  work: CellWork,
): Promise<CellScore[]> {
  const startedAt = performance.now();
  const results = await gradeExamples(dependencies, graded, work);
  refuseUnscored(results);
  const { renderer, tokenizer } = dependencies;
  const identity = {
    benchmarkVersion: version,
    dataHash: digestOf(graded.examples),
    promptHash: digestOf([renderer.name, graded.systemPrompt ?? null]),
    graderVersion: graded.grader.version,
    sampling: { ...graded.generation, numSamples: 1, seed: 'by example' },
    model: work.model.name,
    checkpoint: work.model.path,
  };
  const seconds = (performance.now() - startedAt) / 1000;
  const result = resultOf(results, { name: work.name, identity, seconds });
  const trajectories = await trajectoriesOf(results, { benchmark: work.name, tokenizer });
  await writeBenchmark(work.folder, result, trajectories);
  return [
    {
      metric: 'accuracy',
      key: `test/${work.name}/accuracy`,
      value: result.score,
      stderr: result.stderr,
      n: result.num_examples,
      higherIsBetter: true,
    },
  ];
}

/** A score of 0 because nothing could be asked would be a lie. */
function refuseUnscored(results: readonly GradedExample[]): void {
  const error = results.find((result) => result.error !== null)?.error;
  if (results.length > 0 && (error == null || results.some((result) => result.error === null))) return;
  throw new DomainError(
    'request-failed',
    error == null
      ? 'The evaluator has no examples. Check its dataset.'
      : `All ${results.length} examples failed, the first with: ${error}`,
  );
}

function generationOf(
  config: Pick<BenchmarkConfig, 'maxTokens' | 'temperature' | 'topP'>,
  defaults: GradedWork['generation'],
): GradedWork['generation'] {
  return {
    maxTokens: config.maxTokens ?? defaults.maxTokens,
    temperature: config.temperature ?? defaults.temperature,
    topP: config.topP ?? defaults.topP,
  };
}

function exampleOf({ id, messages }: ConversationRow): Example {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return { id, messages, target: null };
  const { content } = last;
  const target =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { id, messages: messages.slice(0, -1), target };
}

function pluginGrader(plugins: PluginRegistry, name: string): Grader {
  const judge = findGrader(plugins, name);
  return {
    name,
    version: `${name}@${plugins.hash?.slice(0, 16) ?? 'unknown'}`,
    async grade(completion, example) {
      return scoreFrom(await judge(completion, example), completion);
    },
  };
}

/** Plug-ins may be plain JavaScript and return anything. */
function scoreFrom(given: unknown, completion: string): Score {
  if (typeof given === 'number' || typeof given === 'boolean')
    return { value: Number(given), answer: completion };
  const score: Partial<Record<keyof Score, unknown>> =
    typeof given === 'object' && given !== null ? given : {};
  const { value, answer, explanation } = score;
  return {
    value: typeof value === 'number' ? value : NaN,
    answer: typeof answer === 'string' ? answer : null,
    ...(typeof explanation === 'string' && { explanation }),
  };
}
