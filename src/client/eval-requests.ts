import { createHash } from 'node:crypto';
import path from 'node:path';
import type { BenchmarkConfig } from '../config/benchmark-config';
import type { BenchmarkRequest, InspectTask, JudgeSource, ModelSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { digestOf } from '../evaluation/digest';
import { judgeIdentity } from '../evaluation/judges/judged-grader';
import { absoluteInspectName, inspectBenchmarks } from '../evaluation/inspect/task-name';
import { withSource } from '../evaluation/inspect/task-source';
import { givenDates } from '../evaluation/benchmarks/date-window';
import { validateName } from '../core/names';
import type { OptionDifference } from '../evaluation/runner/option-differences';
import { requestDifferences } from '../evaluation/runner/option-differences';

export interface EvalPlaces {
  /** Folder of all runs. */
  readonly store: string;
  /** Name of the eval run; default: the model and a digest of what is asked. */
  readonly run?: string | undefined;
  /** Folder of its results; default `<store>/evals/<run>`. */
  readonly output?: string | undefined;
  /** Benchmark data put there by hand. */
  readonly dataFolder?: string | undefined;
  /** Folder of an eval run whose answers are taken. */
  readonly answersFrom?: string | undefined;
}

const NAME_LENGTH = 60;
const DIGEST_LENGTH = 8;
const HOW_FAST = ['concurrency', 'agentConcurrency', 'timeoutSeconds', 'budget'];

/** A config with what its names stand for. */
export interface ResolvedAsking {
  readonly config: BenchmarkConfig;
  readonly source: ModelSource;
  readonly judges?: readonly JudgeSource[];
}

/** Everything a worker needs to know of each benchmark. */
export function requestsFor(
  benchmarks: readonly string[],
  asked: ResolvedAsking,
  places: EvalPlaces,
): BenchmarkRequest[] {
  const names = [...new Set(benchmarks.map(underscored))];
  if (names.length === 0) {
    throw new DomainError('bad-config', 'Name a benchmark. `npx everstep benchmarks list` shows them.');
  }
  const tasks = inspectBenchmarks(names).map(
    (task) => task && { ...task, inspectTask: withSource(task.inspectTask) },
  );
  const inspectTasks = tasks.flatMap((task) => task?.inspectTask ?? []);
  const shared = {
    ...sharedRequest(asked, places, inspectTasks),
    ...(asked.judges && { judgesFor: names }),
  };
  return names.map((name, index) => {
    const ofInspect = tasks[index];
    if (ofInspect) return { ...shared, ...ofInspect };
    return { ...shared, benchmark: validateName('Benchmark', name) };
  });
}

/** A task of Inspect AI is called what Inspect calls it, one in a file by where that lies. */
function underscored(name: string): string {
  return absoluteInspectName(name, '.') ?? name.replaceAll('-', '_');
}

type SharedRequest = Omit<BenchmarkRequest, 'benchmark'>;

function sharedRequest(
  { config, source: model, judges }: ResolvedAsking,
  { store, run, output, dataFolder, answersFrom }: EvalPlaces,
  inspectTasks: readonly InspectTask[],
): SharedRequest {
  const options = { ...optionsOf(config), ...(judges && { judges }) };
  const folder = output === undefined ? null : path.resolve(output);
  const name = validateName('Eval run', run ?? defaultName(model, { options, folder, inspectTasks }));
  if (folder === null && store.includes('://')) {
    throw new DomainError(
      'bad-config',
      `The store ${store} holds no results of benchmarks. Give --output DIR.`,
    );
  }
  return {
    run: name,
    folder: folder ?? path.join(path.resolve(store), 'evals', name),
    model,
    ...askingOf({ config, ...(judges && { judges }) }, dataFolder),
    ...(answersFrom !== undefined && { answersFrom: path.resolve(answersFrom) }),
  };
}

/** How it is asked, whichever model and benchmark. */
export function askingOf(
  { config, judges }: Omit<ResolvedAsking, 'source'>,
  dataFolder: string | undefined,
): Omit<SharedRequest, 'run' | 'folder' | 'model'> {
  const { plugins, budget } = config;
  return {
    ...optionsOf(config),
    ...(budget && { budget }),
    ...(judges && { judges }),
    ...(plugins !== undefined && { plugins: path.resolve(plugins) }),
    ...(dataFolder !== undefined && { dataFolder: path.resolve(dataFolder) }),
  };
}

/** What decides an answer: how fast it is asked makes no difference. */
export function decisiveOf(options: object): (readonly [string, unknown])[] {
  return Object.entries(options).flatMap(([key, value]: [string, unknown]) => {
    if (HOW_FAST.includes(key)) return [];
    return [[key, key === 'judges' ? decisiveJudges(value) : value]] as const;
  });
}

function decisiveJudges(judges: unknown): unknown {
  // Requests hold judges as they were resolved here.
  // oxlint-disable-next-line typescript/consistent-type-assertions
  return (judges as readonly JudgeSource[]).map(judgeIdentity);
}

interface NamedAsking {
  readonly options: RequestOptions;
  readonly folder: string | null;
  readonly inspectTasks: readonly InspectTask[];
}

/**
 * The same command finds the same folder. How fast it asks makes no difference. Benchmarks have their names and versions; a task of Inspect
 * is its code, arguments and roles as well.
 */
function defaultName(model: ModelSource, { options, folder, inspectTasks }: NamedAsking): string {
  const tasks = inspectTasks.map((task) => digestOf(task)).sort();
  const asked = [withoutPlace(model), decisiveOf(options), folder, ...(tasks.length > 0 ? [tasks] : [])];
  const digest = createHash('sha256').update(JSON.stringify(asked)).digest('hex');
  const called = model.type === 'engine' && model.label !== null ? model.label : model.model;
  const slug = called.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/\.{2,}/g, '.');
  const start = slug.replace(/^[^A-Za-z0-9]+/, '').slice(0, NAME_LENGTH);
  return `${start || 'model'}-${digest.slice(0, DIGEST_LENGTH)}`;
}

/** Weights of a run are the same wherever they are served. */
function withoutPlace(model: ModelSource): ModelSource {
  if (model.type === 'endpoint' || model.identity === undefined) return model;
  const weights: ModelSource = { ...model };
  Reflect.deleteProperty(weights, 'url');
  return weights;
}

/** What decides an answer and differs between two requests, in the words of the options; empty where nothing does. */
export function differencesOf(before: BenchmarkRequest, now: BenchmarkRequest): OptionDifference[] {
  return requestDifferences(
    { ...before, model: withoutPlace(before.model) },
    { ...now, model: withoutPlace(now.model) },
  );
}

type RequestOptions = Omit<
  SharedRequest,
  'run' | 'folder' | 'model' | 'judgesFor' | 'plugins' | 'dataFolder' | 'answersFrom'
>;

function optionsOf(config: BenchmarkConfig): RequestOptions {
  const { numSamples, concurrency, agentConcurrency } = config;
  const { maxExamples, temperature, topP, maxTokens, contextWindow, timeoutSeconds, systemPrompt } = config;
  return {
    numSamples,
    concurrency,
    agentConcurrency,
    ...(maxExamples !== undefined && { maxExamples }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...givenDates(config),
  };
}
