/** What a benchmark run is asked for and what it tells. Plain JSON: it travels through workflow history and `--json`. */

import type { TemplateArguments } from './conversation';
import type { Regrading, TakenAnswers } from './result-origin';

/** A chat or completions endpoint that speaks text. */
interface EndpointSource {
  readonly type: 'endpoint';
  readonly url: string;
  readonly api: 'chat' | 'completions';
  readonly model: string;
}

/** Weights of a training service. */
export interface EngineSource {
  readonly type: 'engine';
  /** Base model by the engine's name. */
  readonly model: string;
  /** Default: the service the worker knows. */
  readonly url?: string;
  readonly profile?: 'everstep' | 'tinker' | 'skyrl';
  /** Sampler weights; null samples the base model. */
  readonly path: string | null;
  /** How the weights are called, e.g. `my-run@100`. */
  readonly label: string | null;
  /** What the weights are, whatever their path; default the path. */
  readonly identity?: string;
  /** Default: the one recommended for the model. */
  readonly renderer?: string;
  /** Variables of the chat template, with the renderer of that name. */
  readonly templateArguments?: TemplateArguments;
}

export type ModelSource = EndpointSource | EngineSource;

/** Completions of one example, whoever asks for them. */
export const MOST_SAMPLES = 10_000;

/** A model that judges answers. */
export interface JudgeSource {
  readonly model: ModelSource;
  /** 0 is greedy. */
  readonly temperature: number;
  readonly topP: number;
  /** Tokens of a judgement; default what its question needs. */
  readonly maxTokens?: number;
  /** Requests in flight, of all who ask this judge in one process. */
  readonly concurrency: number;
  /** Of one judgement. */
  readonly timeoutSeconds: number;
  /** Which of several votes of the same judge this is; each draws anew. From 1; the first has none. */
  readonly vote?: number;
  /** What it said in other runs is not used again. */
  readonly isFresh?: true;
}

/** A task as Inspect AI knows it, e.g. `inspect_evals/gsm8k` or `/path/task.py@name`. */
export interface InspectTask {
  readonly task: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Models by their role, as `--model-role` of Inspect takes them: `{ grader: 'openai/gpt-4o' }`. */
  readonly roles?: Readonly<Record<string, unknown>>;
  /** Digest of the code of a task in a file, as it was when it was asked for. */
  readonly source?: string;
}

/** What asking the model may take, for each benchmark; judges are not in it. */
export interface AskingBudget {
  /** Of prompts and completions. */
  readonly tokens?: number | undefined;
  /** That are answered. */
  readonly requests?: number | undefined;
  readonly dollars?: number | undefined;
  /** What the service asks, of prompts as of completions; needed for dollars. */
  readonly dollarsPerMillionTokens?: number | undefined;
}

/** One benchmark of an eval run. What is left out is the model's or the benchmark's default. */
export interface BenchmarkRequest {
  /** Name of the eval run. */
  readonly run: string;
  /** Absolute: `<store>/evals/<run>`, or what was given as output. */
  readonly folder: string;
  readonly benchmark: string;
  /** Run by Inspect AI. */
  readonly inspectTask?: InspectTask;
  readonly model: ModelSource;
  readonly maxExamples?: number;
  readonly numSamples: number;
  readonly concurrency: number;
  readonly agentConcurrency: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly contextWindow?: number;
  readonly timeoutSeconds?: number;
  readonly budget?: AskingBudget;
  readonly systemPrompt?: string;
  /** Days between which examples are dated. */
  readonly startDate?: string;
  readonly endDate?: string;
  /** Holds `<benchmark>/data.jsonl`; goes before the worker's own. */
  readonly dataFolder?: string;
  /** Plug-in file; goes before the worker's own. */
  readonly plugins?: string;
  /** Who judges, for benchmarks that are judged by a model; several decide by majority. */
  readonly judges?: readonly JudgeSource[];
  /** The benchmarks that the judges were named for at once: one of them at least is to ask them. */
  readonly judgesFor?: readonly string[];
  /** Absolute folder of an eval run whose answers are judged again; the model is not asked. */
  readonly samplesFrom?: string;
  /** The stored answers of this very eval run are graded again; the model is not asked. */
  readonly isRegrading?: true;
  /** Absolute folder of an eval run whose answers to the same prompts are taken; the rest is asked for. */
  readonly answersFrom?: string;
}

/** Answers of a training run's evaluation that are judged again; the model is not asked. */
export interface CellRejudging {
  /** Absolute folder of the cell that holds them. */
  readonly samplesFrom: string;
  readonly judges: readonly JudgeSource[];
}

/** An evaluator of a training run, run alone on one of the run's checkpoints. */
export interface EvaluatorRequest {
  /** Name of the eval run. */
  readonly run: string;
  /** Absolute: of the eval run. */
  readonly folder: string;
  readonly evaluator: string;
  readonly trainingRun: string;
  readonly step: number;
  readonly lineage: number;
  readonly samplerPath: string;
  /** The workers' own engine has the weights, and the run's is gone. */
  readonly isAtOwnEngine?: true;
  readonly rejudging?: CellRejudging;
}

/** Where an activity finds what it works on; everything else is in the folder's `plan.json`. */
export interface BenchmarkPlace {
  readonly run: string;
  readonly folder: string;
  readonly benchmark: string;
}

/** What the workflow needs to know of a plan. */
export interface PlannedBenchmark {
  readonly name: string;
  /** How often this benchmark was started; outranks the attempts of every start before. */
  readonly starts: number;
  /** Shards with something left to do. */
  readonly pendingShards: readonly number[];
  /** The result that is there already, complete and without errors. */
  readonly finished: BenchmarkSummary | null;
  /** Its answers are run in sandboxes. */
  readonly needsSandbox?: true;
  /** Its answers are there: judges alone are asked. */
  readonly needsJudgesOnly?: true;
}

export interface ShardCounts {
  readonly total: number;
  readonly done: number;
  readonly errorCount: number;
  readonly truncatedCount: number;
  readonly completedCount: number;
  /** Done, and in no score: what judges said of them cannot be read. Absent where there are none. */
  readonly unreadCount?: number;
  readonly rewardSum: number;
  readonly rewardSquares: number;
  /** Where each example is asked several times: those of which a sample has a score. */
  readonly examples?: ExampleCounts;
}

/** What a shard that stands still waits for; null when it goes on. */
export interface WaitingShard {
  readonly waiting: string | null;
}

/** Samples of one example hang together: score and error are those of the examples' means, of what is done of each. */
export interface ExampleCounts {
  readonly count: number;
  /** Of the examples' means. */
  readonly sum: number;
  readonly squares: number;
}

/** `progress.json` of a shard, rewritten once a second. */
export interface ShardProgress extends ShardCounts {
  readonly isComplete: boolean;
  readonly at: string;
}

/** One benchmark of `everstep eval --json`. */
export interface BenchmarkSummary {
  readonly name: string;
  readonly score: number;
  readonly stderr: number | null;
  /** 95 %. */
  readonly interval: readonly [low: number, high: number] | null;
  readonly scoreCompleted: number | null;
  readonly numExamples: number;
  readonly numCompleted: number;
  readonly numCorrect: number;
  readonly numErrors: number;
  readonly numTruncated: number;
  /** Of `numExamples`, those whose verdicts cannot be read: they are in no score. Absent where there are none. */
  readonly numUnparsed?: number;
  /** How many answers were cut off and shown to no judge, where models judge and at least half were. */
  readonly unjudged?: string;
  readonly passAtK: Readonly<Record<string, number>>;
  readonly timeSeconds: number;
  /** Each time that its answers were graded again. */
  readonly regraded?: readonly Regrading[];
  /** What was taken from another eval run. */
  readonly answers?: TakenAnswers;
  /** By how much it took more than its budget, and why; the result is whole all the same. */
  readonly overBudget?: string;
}

export const NO_COUNTS: ShardCounts = {
  total: 0,
  done: 0,
  errorCount: 0,
  truncatedCount: 0,
  completedCount: 0,
  rewardSum: 0,
  rewardSquares: 0,
};

export function addCounts(left: ShardCounts, right: ShardCounts): ShardCounts {
  return {
    total: left.total + right.total,
    done: left.done + right.done,
    errorCount: left.errorCount + right.errorCount,
    truncatedCount: left.truncatedCount + right.truncatedCount,
    completedCount: left.completedCount + right.completedCount,
    rewardSum: left.rewardSum + right.rewardSum,
    rewardSquares: left.rewardSquares + right.rewardSquares,
    ...unreadOf((left.unreadCount ?? 0) + (right.unreadCount ?? 0)),
    ...withExamples(left.examples, right.examples),
  };
}

/** Absent where there are none. */
export function unreadOf(unreadCount: number): Pick<ShardCounts, 'unreadCount'> {
  return unreadCount > 0 ? { unreadCount } : {};
}

/** The score of what is done, made like that of the result; null where nothing has one, and where all that judges said cannot be read: 0 of the answers that failed or were cut off would be a lie. */
export function scoreSoFar(counts: ShardCounts): number | null {
  const { examples, done, unreadCount = 0, completedCount, rewardSum } = counts;
  if (unreadCount > 0 && completedCount <= unreadCount) return null;
  const { count, sum } = examples ?? { count: done - unreadCount, sum: rewardSum };
  return count > 0 ? sum / count : null;
}

function withExamples(left?: ExampleCounts, right?: ExampleCounts): Pick<ShardCounts, 'examples'> {
  const either = left ?? right;
  if (!left || !right) return either ? { examples: either } : {};
  return {
    examples: {
      count: left.count + right.count,
      sum: left.sum + right.sum,
      squares: left.squares + right.squares,
    },
  };
}

/** pass@k is given for the powers of two up to the number of samples, and for that number. */
export function passCounts(numSamples: number): number[] {
  const counts: number[] = [];
  for (let k = 1; k < numSamples; k *= 2) counts.push(k);
  return [...counts, numSamples];
}
