import { join } from 'node:path';
import type { EvaluatorConfig } from '../../config/evaluation-config';
import { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import type { JudgeSource } from '../../core/benchmark-run';
import { scoreSoFar } from '../../core/benchmark-run';
import type { CellScore } from '../../core/run';
import { promptFormatOf } from '../../renderers/template-arguments';
import type { ResultIdentity, StoredResult } from '../../stores/eval-store';
import { streamTrajectories } from '../../stores/eval-store';
import { findBenchmark } from '../benchmarks';
import { givenDates, refuseEmptyWindow, withinDates } from '../benchmarks/date-window';
import type { DateWindow } from '../benchmarks/date-window';
import type { GenerationDefaults } from '../benchmarks/benchmark';
import { loadExamples } from '../benchmarks/load-examples';
import { TokenCompleter } from '../completers/token-completer';
import { digestOf } from '../digest';
import type { Example } from '../example';
import { carryAnswers } from '../judges/carry-answers';
import { requireJudges } from '../judges/find-judge';
import { judgesOfIdentity, withJudges } from '../judges/judged-grader';
import { openGraders } from '../judges/open-graders';
import { isUnparsed, numRead } from '../judges/parsed-total';
import { unjudgedRemark } from '../judges/unjudged-remark';
import { dataHashOf, SEED_RULE } from '../runner/identity';
import { Permits } from '../runner/permits';
import { runShard, verifyShard } from '../runner/run-shard';
import type { ExampleSubject } from '../runner/shard-task';
import { writeResult } from '../runner/write-result';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { identityOf } from './evaluation-context';

/** Examples that one evaluator asks of one snapshot. */
export interface GradedCell {
  readonly examples: readonly Example[];
  readonly subject: ExampleSubject;
  readonly version: number;
  readonly concurrency: number;
  /** Default `accuracy`. */
  readonly metric?: string | undefined;
  /** Who judges, where models do. */
  readonly judges?: readonly JudgeSource[] | undefined;
  /** Days that the examples were limited to. */
  readonly dates?: DateWindow;
  /** Tokens of prompt and completion together, where fewer than the model's are asked for. */
  readonly contextWindow?: number | undefined;
  /** Of one example. */
  readonly timeoutSeconds?: number | undefined;
}

const TIMEOUT_MS = 300_000;
/** Agents hold their place from beginning to end. */
const AGENTS_AT_ONCE = 8;

type BenchmarkConfig = Extract<EvaluatorConfig, { type: 'benchmark' }>;

/** Scores a benchmark of the catalogue and writes its result and trajectories to the cell's folder. */
export async function evaluateBenchmark(
  dependencies: EvaluationDependencies,
  config: BenchmarkConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const { contextWindow, timeoutSeconds, agentConcurrency = AGENTS_AT_ONCE } = config;
  const benchmark = withinDates(findBenchmark(config.benchmark, dependencies.plugins), givenDates(config));
  const { examples, source } = await loadExamples(benchmark, dependencies.readBenchmarkRows);
  refuseEmptyWindow(benchmark.name, { examples, source, window: givenDates(config) });
  const asked = {
    grader: benchmark.grader,
    generation: generationOf(config, benchmark.generation),
    systemPrompt: config.systemPrompt ?? benchmark.systemPrompt,
    ...(benchmark.environment && { environment: benchmark.environment.bind(benchmark) }),
    ...{ numSamples: config.numSamples, contextWindow },
  };
  const cell = {
    ...{ contextWindow, timeoutSeconds, dates: givenDates(config) },
    examples: examples.slice(0, config.maxExamples),
    subject: subjectOf(dependencies, asked, work),
    version: benchmark.version,
    concurrency: benchmark.environment ? agentConcurrency : config.concurrency,
    metric: benchmark.metric,
    judges: await requireJudges(benchmark.grader, config.judge, dependencies),
  };
  return scoreCell(dependencies, cell, work);
}

export async function scoreCell(
  dependencies: EvaluationDependencies,
  cell: GradedCell,
  work: CellWork,
): Promise<CellScore[]> {
  const startedAt = performance.now();
  const { examples, judges, metric = 'accuracy' } = cell;
  const subject = { ...cell.subject, grader: withJudges(cell.subject.grader, judges) };
  const contextLength = cell.contextWindow ?? dependencies.contextLength;
  const completer = new TokenCompleter({ ...dependencies, contextLength });
  const folder = join(work.folder, 'journal');
  const { rejudging } = dependencies;
  if (rejudging) {
    const from = join(rejudging.samplesFrom, 'journal');
    await carryAnswers({ from, to: folder, subject, examples });
  }
  await gradeExamples(dependencies, { ...cell, subject, completer, folder }, work);
  const identity = identityOfCell(cell, dependencies, work);
  const result = await writeResult({
    name: work.name,
    folder: work.folder,
    subject,
    shards: [{ folder, examples }],
    identity,
    seconds: () => (performance.now() - startedAt) / 1000,
    promptText: (messages) => completer.promptText(messages),
    verify: () => {
      verifyShard(folder, work.epoch);
    },
  });
  const unjudged = unjudgedRemark(result);
  const remarks = [
    ...(unjudged === null ? [] : [unjudged]),
    ...(result.num_errors > 0 ? [errorRemark(work.folder, result)] : []),
  ];
  return [
    {
      metric,
      key: `test/${work.name}/${metric}`,
      value: result.score,
      stderr: result.stderr,
      n: examplesIn(result, work.folder, subject.numSamples),
      higherIsBetter: true,
      ...(result.ci && { ci: result.ci }),
      data: identity.dataHash,
      grader: digestOf([subject.grader.version, judgesOfIdentity(subject.grader, judges)]).slice(0, 16),
      ...(remarks.length > 0 && { remark: remarks.join('; ') }),
    },
  ];
}

/** How many examples a score is of: those without a readable verdict are in none. */
function examplesIn(result: StoredResult, folder: string, numSamples: number): number {
  if (numSamples === 1 || numRead(result) === result.num_examples) return numRead(result) / numSamples;
  const read = new Set<string>();
  for (const trajectory of streamTrajectories(folder))
    if (!isUnparsed(trajectory)) read.add(trajectory.example_id);
  return read.size;
}

/** A score that counts failures as 0 says so. */
function errorRemark(folder: string, { num_errors: errorCount, num_examples: count }: StoredResult): string {
  const [first] = streamTrajectories(folder, { errorsOnly: true });
  const why = first?.error === null || first === undefined ? '' : `, the first with: ${first.error}`;
  return `${errorCount} of ${count} examples failed and count 0${why}`;
}

interface GradedWork extends GradedCell {
  readonly completer: TokenCompleter;
  readonly folder: string;
}

async function gradeExamples(
  dependencies: EvaluationDependencies,
  { examples, subject, concurrency, judges, completer, folder, timeoutSeconds }: GradedWork,
  { signal, epoch, onProgress }: CellWork,
): Promise<void> {
  const timeoutMs =
    timeoutSeconds === undefined ? (dependencies.timeoutMs ?? TIMEOUT_MS) : timeoutSeconds * 1000;
  const waits = new WaitingReasons((waiting) => {
    onProgress({ waiting });
  });
  const { grader, close } = await openGraders(subject.grader, {
    python: { link: dependencies.python, signal, timeoutMs, onWaiting: waits.part() },
    judging: {
      ...{ judges, access: dependencies.judges, folder, epoch, rank: 0, signal },
      onWaiting: waits.part(),
    },
  });
  try {
    await runShard({
      subject: { ...subject, grader },
      ...{ examples, folder, epoch, completer, concurrency, timeoutMs, signal },
      permits: new Permits(concurrency),
      ...{ rank: 0, waits },
      onProgress(counts) {
        const score = scoreSoFar(counts);
        onProgress({ done: counts.done, total: counts.total, ...(score !== null && { score }) });
      },
    });
  } finally {
    await close();
  }
}

function identityOfCell(
  { examples, subject, version, judges, dates, contextWindow }: Omit<GradedCell, 'concurrency'>,
  { renderer }: EvaluationDependencies,
  { model }: CellWork,
): ResultIdentity {
  return {
    benchmarkVersion: version,
    dataHash: dataHashOf(examples),
    ...dates,
    promptHash: digestOf([promptFormatOf(renderer), subject.systemPrompt ?? null]),
    graderVersion: subject.grader.version,
    sampling: {
      ...{ ...subject.generation, numSamples: subject.numSamples, seed: SEED_RULE },
      ...(contextWindow !== undefined && { contextWindow }),
    },
    model: model.name,
    checkpoint: model.path,
    ...judgesOfIdentity(subject.grader, judges),
  };
}

export function subjectOf(
  { renderer }: EvaluationDependencies,
  asked: Pick<ExampleSubject, 'grader' | 'generation' | 'environment'> & {
    readonly systemPrompt: string | undefined;
    readonly numSamples?: number | undefined;
    readonly contextWindow?: number | undefined;
  },
  { model }: CellWork,
): ExampleSubject {
  const { grader, generation, environment, systemPrompt, numSamples = 1, contextWindow } = asked;
  const facts = [identityOf(model), promptFormatOf(renderer), systemPrompt ?? null, generation];
  return {
    grader,
    generation,
    numSamples,
    base: digestOf(contextWindow === undefined ? facts : [...facts, contextWindow]),
    ...(environment && { environment }),
    ...(systemPrompt !== undefined && { systemPrompt }),
  };
}

export function generationOf(
  config: Pick<BenchmarkConfig, 'maxTokens' | 'temperature' | 'topP'>,
  defaults: GenerationDefaults,
): GenerationDefaults {
  return {
    maxTokens: config.maxTokens ?? defaults.maxTokens,
    temperature: config.temperature ?? defaults.temperature,
    topP: config.topP ?? defaults.topP,
  };
}
