import path from 'node:path';
import { anySignal } from '../core/concurrency/any-signal';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { CellRejudging } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import type { ReadBenchmarkRows } from '../evaluation/benchmarks/benchmark-rows';
import { findBenchmark } from '../evaluation/benchmarks';
import { guardAttempt } from '../evaluation/attempt-guard';
import { evaluateCell } from '../evaluation/evaluate-cell';
import type { EvaluationDependencies } from '../evaluation/evaluators/evaluation-context';
import type { InspectAccess } from '../evaluation/inspect/run/inspect-access';
import { NO_SAMPLER } from '../evaluation/judges/carry-answers';
import type { JudgeAccess } from '../evaluation/judges/judge-access';
import type { PythonLink } from '../evaluation/python/python-link';
import { summarizeEvalRun } from '../evaluation/runner/eval-run-files';
import { reopenCell } from '../evaluation/stored-cell';
import { messageWithPlace } from '../evaluation/thrown-at';
import type { EvaluationBudget } from '../core/schedules/evaluation-schedule';
import { findRenderer } from '../renderers/find-renderer';
import type { RunStore } from '../stores/run-store';
import { cellPlugins } from './cell-plugins';
import type { ReadDataset } from './dataset-source';
import type { EngineAccess, EngineConnection } from './engine-access';
import { presentEvaluator } from './frozen-test-set';
import { isNotItsFault, placedError } from './not-its-fault';
import type { LoadPlugins } from './plugin-file';
import { EvaluationAllowance } from '../evaluation/evaluation-budget';
import type { SamplingPrices } from '../core/sampling-cost';
import type { FinishedCell } from './record-scores';
import { writeEvaluationPage } from './reinforcement/evaluation-page';
import { contextLengthOf } from './reinforcement/rollout-site-of';
import type { SamplingRuns } from './reinforcement/sampling-runs';
import { evaluateTestSet } from './reinforcement/test-set';
import type { RunRecord } from './run-folder';
import { readRunRecord } from './run-folder';
import { supervisionOf } from './supervision-of';

export interface EvaluateSnapshotDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly readDataset: ReadDataset;
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
  readonly sampling: SamplingRuns;
  readonly now: () => Date;
  /** The way to Python workers. */
  readonly python?: PythonLink;
  /** The way to models that judge. */
  readonly judges?: JudgeAccess;
  /** The way to run tasks of Inspect AI. */
  readonly inspect?: InspectAccess;
  readonly loadPlugins: LoadPlugins;
}

export interface EvaluateSnapshotInput {
  readonly run: string;
  readonly step: number;
  readonly lineage: number;
  readonly samplerPath: string;
  readonly evaluator: string;
  /** Tokens and dollars it may use; its time is watched by its workflow. */
  readonly budget?: EvaluationBudget;
  /** Where the cell goes; default the run's own place for it. */
  readonly folder?: string;
  /** The workers' own engine has the snapshot, and the run's is gone. */
  readonly isAtOwnEngine?: true;
  /** The answers of another cell are judged again, and the snapshot is not asked. */
  readonly rejudging?: CellRejudging;
}

export interface EvaluateSnapshotOptions {
  readonly signal: AbortSignal;
  /** Rises with every attempt that may write the cell's journal. */
  readonly epoch: number;
  /** Which try of its activity this is, from 1. */
  readonly attempt?: number;
  readonly onProgress: (progress: unknown) => void;
  /** Cells whose answers are run in sandboxes are scored here too; else they are only told apart. */
  readonly mayRunCode: boolean;
}

/**
 * Scores one evaluator on one snapshot.
 *
 * What an evaluator itself gets wrong is a result: it is reported and training goes on. A service that is away, or
 * an attempt that was overtaken, is not the evaluator's fault and is thrown.
 */
export async function evaluateSnapshot(
  dependencies: EvaluateSnapshotDependencies,
  input: EvaluateSnapshotInput,
  options: EvaluateSnapshotOptions,
): Promise<FinishedCell> {
  const { evaluator } = input;
  const at = () => dependencies.now().toISOString();
  let takenUp: Pick<FinishedCell, 'attempt'> = {};
  try {
    const folder = folderOf(dependencies, input);
    const subject = `evaluator ${JSON.stringify(evaluator)} of step ${input.step} of run ${JSON.stringify(input.run)}`;
    const guarded = {
      ...{ subject, folder, signal: options.signal },
      givenUpPath: givenUpPath(dependencies, input),
    };
    const scores = await guardAttempt(guarded, async ({ isTakenUp, signal }) => {
      if (isTakenUp) takenUp = attemptOf(options);
      if (!options.mayRunCode && (await needsSandbox(dependencies, input))) return null;
      if (input.rejudging) await reopenCell(folder);
      return scoreCell(dependencies, input, { ...options, signal });
    });
    if (scores === null) return { evaluator, scores: [], at: at(), isForGrading: true };
    if (input.rejudging) await summarizeEvalRun(path.dirname(folder));
    return { evaluator, scores, at: at(), ...takenUp };
  } catch (problem) {
    const place = {
      run: input.run,
      folder: folderOf(dependencies, input),
      isDue: input.folder === undefined,
    };
    const error = await placedError(dependencies.store, place, { problem, attempt: options.attempt ?? 1 });
    if (options.signal.aborted || isNotItsFault(error)) throw error;
    return { evaluator, scores: [], at: at(), error: messageWithPlace(error), ...takenUp };
  }
}

/** A mark of a first attempt's predecessor is of an earlier workflow, whose end is told as such. */
function attemptOf({ attempt = 1 }: EvaluateSnapshotOptions): Pick<FinishedCell, 'attempt'> {
  return attempt > 1 ? { attempt } : {};
}

async function scoreCell(
  dependencies: EvaluateSnapshotDependencies,
  input: EvaluateSnapshotInput,
  options: EvaluateSnapshotOptions,
) {
  const { store, readDataset } = dependencies;
  const record = await readRunRecord(store, input.run);
  const { config } = record;
  const evaluator = evaluatorOf(store, record, input);
  const tokenizer = await dependencies.tokenizerOf(config.model);
  const { sampler, close, ...snapshot } = await openSnapshot(dependencies, record, input);
  const folder = folderOf(dependencies, input);
  let allowance: EvaluationAllowance | null = null;
  try {
    if (input.budget)
      allowance = await EvaluationAllowance.open(
        {
          ...{ folder, epoch: options.epoch },
          onWaiting: (waiting) => {
            options.onProgress({ waiting });
          },
        },
        input.budget,
        samplingPrices(config),
      );
    const scores = await evaluateCell(
      {
        sampler: allowance?.limit(sampler) ?? sampler,
        tokenizer,
        renderer: findRenderer(record.renderer, tokenizer, config.templateArguments),
        ...snapshot,
        loadDataset: readDataset,
        readBenchmarkRows: dependencies.readBenchmarkRows(record.dataFolder),
        python: dependencies.python,
        judges: dependencies.judges,
        inspect: dependencies.inspect,
        plugins: await cellPlugins(dependencies.loadPlugins, record, { ...input, config: evaluator }),
        supervision: supervisionOf(config),
      },
      {
        evaluator,
        isAskedByName: input.folder !== undefined,
        name: input.evaluator,
        folder,
        epoch: options.epoch,
        model: { name: config.model, path: input.samplerPath, identity: identityOf(input) },
        signal: allowance ? anySignal([options.signal, allowance.signal]) : options.signal,
        onProgress: options.onProgress,
      },
    );
    if (config.kind === 'rl' && config.numGroupsToLog > 0) {
      await writeEvaluationPage({ ...input, folder, groupCount: config.numGroupsToLog });
    }
    return scores;
  } finally {
    await allowance?.close();
    await close();
  }
}

interface OpenSnapshot extends Pick<
  EvaluationDependencies,
  'sampler' | 'contextLength' | 'engineUrl' | 'rejudging' | 'evaluateTestSet'
> {
  readonly close: () => Promise<void>;
}

/** The weights, ready to be asked; where stored answers are judged again, nobody is. */
async function openSnapshot(
  dependencies: EvaluateSnapshotDependencies,
  { config, engineUrl }: RunRecord,
  input: EvaluateSnapshotInput,
): Promise<OpenSnapshot> {
  const { samplerPath, isAtOwnEngine, rejudging } = input;
  if (rejudging) {
    const close = () => Promise.resolve();
    return { sampler: NO_SAMPLER, contextLength: null, engineUrl, rejudging, close };
  }
  const place = isAtOwnEngine ? { tags: [] } : config.engine;
  const engine = await dependencies.engines.connect(place, { baseModel: config.model });
  const sampler = engine.client.createSampler({ modelPath: samplerPath });
  return {
    sampler,
    contextLength: engine.profile.maxSequenceLength,
    engineUrl: engine.url,
    ...(config.kind === 'rl' && { evaluateTestSet: testSetOf(dependencies, input, engine) }),
    async close() {
      await sampler.close();
      await engine.client.close();
    },
  };
}

function samplingPrices({ engine, model }: RunRecord['config']): SamplingPrices | null {
  const prices = engine.prices?.[model];
  if (prices?.prefill === undefined || prices.sampling === undefined) return null;
  return { prefill: prices.prefill, sampling: prices.sampling };
}

async function needsSandbox(
  dependencies: EvaluateSnapshotDependencies,
  input: EvaluateSnapshotInput,
): Promise<boolean> {
  const record = await readRunRecord(dependencies.store, input.run);
  const evaluator = evaluatorOf(dependencies.store, record, input);
  if (evaluator.type !== 'benchmark') return false;
  const registry = await cellPlugins(dependencies.loadPlugins, record, { ...input, config: evaluator });
  return findBenchmark(evaluator.benchmark, registry).needsSandbox === true;
}

function folderOf({ store }: EvaluateSnapshotDependencies, input: EvaluateSnapshotInput): string {
  return input.folder ?? store.cellFolder(input.run, input.step, input.evaluator);
}

/** In the run's folder: what one step learnt of an evaluator that kills, the next one knows. */
function givenUpPath(
  { store }: EvaluateSnapshotDependencies,
  { run, step, evaluator }: EvaluateSnapshotInput,
): string {
  const name = path.basename(store.cellFolder(run, step, evaluator));
  return path.join(store.runFolder(run), `.given-up-${name}.json`);
}

/** Weights by what they are: a snapshot saved again under another URI reuses the answers it has. */
function identityOf({ run, step, lineage }: EvaluateSnapshotInput): string {
  return `${run}/${step}/${lineage}`;
}

function testSetOf(
  { sampling, tokenizerOf, judges }: EvaluateSnapshotDependencies,
  { run, step }: EvaluateSnapshotInput,
  { profile }: EngineConnection,
): NonNullable<EvaluationDependencies['evaluateTestSet']> {
  return async (evaluator, { sampler, folder, model, signal, onProgress }) => {
    const active = await sampling.open(run);
    let waiting: string | null = null;
    const tokenizer = await tokenizerOf(active.config.model);
    return evaluateTestSet(active, evaluator, {
      ...{ sampler, tokenizer, folder, model, signal, step, judges },
      renderer: findRenderer(active.record.renderer, tokenizer, active.config.templateArguments),
      contextLength: contextLengthOf(profile),
      onWaiting: (reason) => {
        waiting = reason;
        onProgress({ waiting });
      },
      onGroup: (done) => {
        onProgress({ waiting, done, total: done });
      },
    });
  };
}

function evaluatorOf(
  store: RunStore,
  record: RunRecord,
  { run, evaluator: name }: EvaluateSnapshotInput,
): EvaluatorConfig {
  const evaluator = presentEvaluator(record, name, store.runFolder(run));
  if (evaluator) return evaluator;
  const known = Object.keys(record.evaluators).join(', ') || 'none';
  throw new DomainError('unknown-evaluator', `Run "${run}" has no evaluator "${name}". It has: ${known}.`);
}
