import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { SupervisedConfig } from '../config/supervised-config';
import { untilAborted } from '../core/concurrency/until-aborted';
import { stepsPerEpoch } from '../core/batches';
import type { Tokenizer } from '../core/tokenizer';
import type { TrainingPlan } from '../core/training-plan';
import type { ConversationRow, LoadedDataset } from '../datasets/dataset';
import { splitTrainTest } from '../datasets/split';
import { findRenderer } from '../renderers/find-renderer';
import type { RunStore } from '../stores/run-store';
import type { ReadDataset } from './dataset-source';
import type { EngineAccess, EngineConnection } from './engine-access';
import { resolveInitialCheckpoint } from './initial-checkpoint';
import { rendererFor, requireOffered } from './model-checks';
import { prepareExamples } from './prepare-examples';
import { writePreparedData } from './prepared-data';
import type { ResolvedEvaluations } from './resolve-evaluations';
import { resolveEvaluations } from './resolve-evaluations';
import type { RunRecord } from './run-folder';
import { testDataPath, trainDataPath } from './run-folder';

export interface PrepareDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly readDataset: ReadDataset;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
  /** Refuses an evaluator this worker cannot build. */
  readonly checkEvaluators: (
    evaluators: readonly EvaluatorConfig[],
    plugins: string | undefined,
  ) => Promise<void>;
  readonly now: () => Date;
}

export interface PrepareInput {
  readonly run: string;
  readonly config: SupervisedConfig;
  readonly provenance: { readonly codeDiff?: string | null };
  readonly workflowId: string;
  readonly firstRunId: string;
}

export interface PrepareOptions {
  readonly onProgress: (what: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes a run's folder: config, data as tokens, state. Returns what its workflow decides by.
 *
 * Safe to run again: the folder belongs to the workflow that claimed it, and files are written whole. Once the signal has
 * fired nothing more is written.
 */
export async function prepareRun(
  dependencies: PrepareDependencies,
  input: PrepareInput,
  { onProgress, signal }: PrepareOptions,
): Promise<TrainingPlan> {
  const { store } = dependencies;
  const { run, config } = input;
  const waitFor = <Value>(work: Promise<Value>) => untilAborted(work, signal);
  signal.throwIfAborted();
  await store.claim(run, { workflowId: input.workflowId, firstRunId: input.firstRunId });

  const rendererName = rendererFor(config);
  const initialPath = await resolveInitialCheckpoint(store, config);
  const engine = await waitFor(openEngine(dependencies.engines, config));
  const dataset = await waitFor(dependencies.readDataset(config.dataset));
  const { train, test } = await waitFor(splitRows(dependencies, config, dataset));
  const tokenizer = await waitFor(dependencies.tokenizerOf(config.model));
  const renderer = findRenderer(rendererName, tokenizer);
  const prepared = await prepareExamples(train, {
    config,
    renderer,
    tokenizer,
    contextLength: engine.profile.maxSequenceLength,
    onProgress: (done) => {
      onProgress(`${done} of ${train.length} examples rendered`);
      signal.throwIfAborted();
    },
  });

  const folder = store.runFolder(run);
  const evaluations = resolveEvaluations(config, await writeTestSet(folder, test));
  await waitFor(dependencies.checkEvaluators(Object.values(evaluations.evaluators), config.plugins));
  const preparedHash = await writeTrainSet(folder, prepared.examples);
  const plan = planOf(input, evaluations, {
    exampleCount: train.length,
    startedAt: dependencies.now().toISOString(),
  });
  const { codeDiff, ...provenance } = input.provenance;
  const record: RunRecord = {
    run,
    config,
    evaluators: evaluations.evaluators,
    renderer: rendererName,
    engineUrl: engine.url,
    initialPath,
    data: {
      ...describeData(dataset),
      preparedHash,
      trainCount: train.length,
      testCount: test.length,
      truncatedCount: prepared.truncatedCount,
    },
    provenance,
  };
  signal.throwIfAborted();
  if (codeDiff != null) await store.writeCodeDiff(run, `${codeDiff}\n`);
  await store.writeConfig(run, record);
  await store.writeState(run, firstState(plan, input.workflowId, engine.url));
  return plan;
}

function describeData({ source, contentHash, skipped }: LoadedDataset) {
  return {
    source: source.description,
    revision: source.revision ?? null,
    contentHash,
    skippedCount: skipped.length,
  };
}

async function openEngine(engines: EngineAccess, config: SupervisedConfig): Promise<EngineConnection> {
  const engine = await engines.connect(config.engine, { baseModel: config.model });
  requireOffered(config.model, await engine.client.capabilities(), engine);
  return engine;
}

async function splitRows(
  { readDataset }: PrepareDependencies,
  config: SupervisedConfig,
  dataset: LoadedDataset,
): Promise<{ train: readonly ConversationRow[]; test: readonly ConversationRow[] }> {
  const { testPath, testSize } = config.dataset;
  if (testPath !== undefined) {
    const { onBadRow, split } = config.dataset;
    const test = await readDataset({ path: testPath, onBadRow, split, testSize: 0 });
    return { train: dataset.rows, test: test.rows };
  }
  return splitTrainTest(dataset.rows, { testSize, seed: config.seed });
}

async function writeTrainSet(
  folder: string,
  examples: Parameters<typeof writePreparedData>[1],
): Promise<string> {
  const path = trainDataPath(folder);
  await mkdir(dirname(path), { recursive: true });
  return writePreparedData(path, examples);
}

/** The test split becomes an `nll` evaluator unasked. */
async function writeTestSet(
  folder: string,
  rows: readonly ConversationRow[],
): Promise<EvaluatorConfig | null> {
  if (rows.length === 0) return null;
  const path = testDataPath(folder);
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, rows.map(({ messages }) => `${JSON.stringify({ messages })}\n`).join(''));
  await rename(temporary, path);
  const dataset = { path, split: 'train', testSize: 0, onBadRow: 'error' as const };
  return { type: 'nll', name: 'test', dataset, concurrency: 64 };
}

function planOf(
  { run, config }: PrepareInput,
  { schedules }: ResolvedEvaluations,
  facts: { readonly exampleCount: number; readonly startedAt: string },
): TrainingPlan {
  const epochLength = stepsPerEpoch({ exampleCount: facts.exampleCount, batchSize: config.batchSize });
  return {
    run,
    kind: config.kind,
    model: config.model,
    startedAt: facts.startedAt,
    totalSteps: config.steps ?? Math.max(1, Math.round(config.epochs * epochLength)),
    stepsPerEpoch: epochLength,
    submitAhead: config.submitAhead,
    checkpoints: {
      saveEvery: config.saveEvery,
      ttlSeconds: config.ttlSeconds,
      rollingSaveEvery: config.rollingSaveEvery,
      rollingTtlSeconds: config.rollingTtlSeconds,
    },
    evaluations: schedules,
  };
}

function firstState(plan: TrainingPlan, workflowId: string, engine: string) {
  return {
    run: plan.run,
    kind: plan.kind,
    model: plan.model,
    status: 'running' as const,
    step: 0,
    totalSteps: plan.totalSteps,
    startedAt: plan.startedAt,
    closedAt: null,
    workflowId,
    engine,
    lineage: 0,
    rewinds: 0,
    stepsReplayed: 0,
    finalWeightsDigest: null,
  };
}
