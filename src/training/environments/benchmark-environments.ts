import type { JudgeSource } from '../../core/benchmark-run';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import type { Benchmark, HubRows } from '../../evaluation/benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../evaluation/benchmarks/load-examples';
import type { Example } from '../../evaluation/example';
import type { Score } from '../../evaluation/graders/grader';
import type { EnvironmentDataset, EnvironmentGroup } from './environment-dataset';
import { exampleGroup } from './example-group';
import { FORMAT_PENALTY } from './problem-environment';
import type { Problem } from './problem-environment';
import { listedDataset, splitDataset } from './listed-dataset';

export interface BenchmarkEnvironmentOptions {
  readonly split: string;
  readonly systemPrompt?: string | undefined;
  readonly prefix?: readonly Message[] | undefined;
  readonly limit?: number | undefined;
  /** Problems kept apart where the benchmark has no other split. */
  readonly testSize: number;
  readonly formatPenalty?: number;
  readonly checkFormat?: Problem['checkFormat'];
  readonly rewardOf?: (score: Score) => number;
  /** What is said of rows that are no problems to train on. */
  readonly whyLeftOut?: string;
  /** Who judges, where the benchmark's grader asks models. */
  readonly judges?: readonly JudgeSource[] | undefined;
}

/**
 * Any benchmark as problems to train on: its grader gives the reward, its environment where it has one the whole rollout.
 *
 * Of a dataset on the hub the split named is trained on, and the benchmark's own examples are the test set;
 * `EVERSTEP_DATA_DIR/<benchmark>_<split>/data.jsonl` goes before the hub. Where there is no other split, some examples are
 * kept apart, the same in every run.
 */
export async function benchmarkEnvironments(
  benchmark: Benchmark,
  options: BenchmarkEnvironmentOptions,
  read: ReadBenchmarkRows,
): Promise<EnvironmentDataset> {
  refuseJudgedElsewhere(benchmark, options);
  const groupOf = (example: Example) => groupOfExample(benchmark, example, options);
  const { data } = benchmark;
  if ('hub' in data && data.split !== options.split) {
    const trained = await loadExamples(splitOf(benchmark, data, options.split), read);
    const tested = await loadExamples(benchmark, read);
    const isTested = new Set(tested.examples.map(questionOf));
    const examples = trained.examples.filter((example) => !isTested.has(questionOf(example)));
    const test = listedDataset(benchmark.name, tested.examples, { groupOf, test: null });
    return listedDataset(benchmark.name, examples.slice(0, options.limit), { groupOf, test });
  }
  const { examples, leftOut } = await loadExamples(benchmark, read);
  const { testSize, limit, whyLeftOut: reason } = options;
  const dataset = splitDataset(benchmark.name, examples, { groupOf, testSize, limit, askedBy: questionOf });
  if (reason === undefined || leftOut.length === 0) return dataset;
  const unanswered = leftOut.map((place) => ({ place, reason }));
  return { ...dataset, leftOut: [...unanswered, ...(dataset.leftOut ?? [])] };
}

/** Rewards are given where rollouts are played, by that process or by judges that it asks. */
function refuseJudgedElsewhere(benchmark: Benchmark, { judges }: BenchmarkEnvironmentOptions): void {
  const { name, grader } = benchmark;
  const isPlayed = 'environment' in benchmark;
  const isJudged = grader.judging !== undefined && !isPlayed;
  const problem = isJudged ? judgeMissing(name, judges) : judgeUnused(name, judges);
  if (problem !== null) throw new DomainError('bad-config', problem);
  if (isPlayed || !grader.python) return;
  throw new DomainError(
    'bad-config',
    `environment: answers of ${name} are judged by a Python worker, which gives no rewards. ` +
      'Make it an environment of that worker (type: python).',
  );
}

function judgeMissing(name: string, judges: readonly JudgeSource[] | undefined): string | null {
  if (judges?.length) return null;
  return `environment: answers of ${name} are judged by a model, and none is named. Give "judge", a model with its endpoint.`;
}

function judgeUnused(name: string, judges: readonly JudgeSource[] | undefined): string | null {
  return judges ? `environment.judge: no model judges answers of ${name}. Remove it.` : null;
}

function groupOfExample(
  benchmark: Pick<Benchmark, 'name' | 'grader' | 'systemPrompt' | 'environment'>,
  example: Example,
  options: Omit<BenchmarkEnvironmentOptions, 'split' | 'testSize' | 'limit'>,
): EnvironmentGroup {
  const { name, grader, environment } = benchmark;
  const tags = [name];
  if (environment) return { id: example.id, tags, hasHiddenTools: true, make: () => environment(example) };
  const { formatPenalty = FORMAT_PENALTY, checkFormat, rewardOf, judges } = options;
  return exampleGroup({
    example,
    grader,
    tags,
    prefix: prefixOf(example.isAskedAsItStands ? undefined : benchmark.systemPrompt, options),
    formatPenalty,
    ...(checkFormat && !example.isAskedAsItStands && { checkFormat }),
    // Whether a verdict can be read says nothing of the form of the reply.
    ...(judges && { checkFormat: () => true }),
    ...(rewardOf && { rewardOf }),
    judges,
  });
}

function prefixOf(
  ownPrompt: string | undefined,
  { systemPrompt = ownPrompt, prefix = [] }: Pick<BenchmarkEnvironmentOptions, 'systemPrompt' | 'prefix'>,
): readonly Message[] {
  return [...(systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }]), ...prefix];
}

/** The name decides the folder of local rows: those of the test split must not be read for another one. */
function splitOf(benchmark: Benchmark, data: HubRows, split: string): Benchmark {
  return { ...benchmark, name: `${benchmark.name}_${split}`, data: { ...data, split } };
}

/** By what problems are told apart that are kept apart and trained on. */
export function questionOf({ messages }: Example): string {
  return JSON.stringify(messages);
}
