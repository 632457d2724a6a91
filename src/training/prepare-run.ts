import type { EvaluatorConfig } from '../config/evaluation-config';
import type { TrainingConfig } from '../config/training-config';
import { untilAborted } from '../core/concurrency/until-aborted';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { stepsPerEpoch } from '../core/batches';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import type { TrainingPlan } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import { unreachedRemarks, warmUpRemark } from './data-remarks';
import type { ReadDataset } from './dataset-source';
import type { EngineAccess, EngineConnection } from './engine-access';
import { recordedEvaluators } from './frozen-test-set';
import { resolveInitialCheckpoint } from './initial-checkpoint';
import { budgetOf, refuseUnpriced } from './run-budget';
import { rendererFor, requireOffered } from './model-checks';
import type { DataPlace, PreparedSource } from './prepare-supervised-data';
import { withDigest } from './record-digest';
import { guardPreparation } from './preparation-guard';
import { prepareSupervisedData } from './prepare-supervised-data';
import { prepareEnvironments } from './reinforcement/prepare-environments';
import { prepareKlReference } from './reinforcement/kl-reference';
import type { EnvironmentAccess } from './reinforcement/open-environments';
import { rolloutPlanOf } from './reinforcement/rollout-plan';
import type { ResolvedEvaluations } from './resolve-evaluations';
import { resolveEvaluations } from './resolve-evaluations';
import type { RunRecord } from './run-folder';
import type { EvaluatorRowsSite } from './evaluator-rows';
import { evaluatorRowRemarks } from './evaluator-rows';
import { openSequenceSite } from './sequence-site';
import { sharedRemarks } from './shared-examples';
import { untilReachable } from './until-reachable';

export interface PrepareDependencies extends EnvironmentAccess {
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
  readonly config: TrainingConfig;
  readonly provenance: { readonly codeDiff?: string | null };
  /** Of benchmark data that goes before the hub; default: the worker's own. */
  readonly dataFolder?: string | undefined;
  readonly workflowId: string;
  readonly firstRunId: string;
}

export interface PrepareOptions {
  readonly onProgress: (what: string) => void;
  /** Told what the training service, while it is away, keeps waiting. */
  readonly onWaiting?: TellWaiting;
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
  { onProgress, onWaiting, signal }: PrepareOptions,
): Promise<TrainingPlan> {
  const { store } = dependencies;
  const { run } = input;
  signal.throwIfAborted();
  await store.claim(run, { workflowId: input.workflowId, firstRunId: input.firstRunId });
  return guardPreparation({ folder: store.runFolder(run), onProgress }, (noted) =>
    prepareClaimed(dependencies, input, { onProgress: noted, signal, ...(onWaiting && { onWaiting }) }),
  );
}

async function prepareClaimed(
  dependencies: PrepareDependencies,
  input: PrepareInput,
  { onProgress, onWaiting, signal }: PrepareOptions,
): Promise<TrainingPlan> {
  const { store } = dependencies;
  const { run, config } = input;
  const waitFor = <Value>(work: Promise<Value>) => untilAborted(work, signal);
  const reach = <Answer>(ask: () => Promise<Answer>) =>
    waitFor(untilReachable(ask, { signal, ...(onWaiting && { onWaiting }) }));
  const rendererName = rendererFor(config);
  const initialPath = await resolveInitialCheckpoint(store, config);
  const engine = await reach(() => lookUpEngine(dependencies.engines, config));
  const folder = store.runFolder(run);
  const source = await prepareData(dependencies, config, {
    renderer: rendererName,
    contextLength: engine.profile.maxSequenceLength,
    folder,
    dataFolder: input.dataFolder,
    onProgress,
    ...(onWaiting && { onWaiting }),
    signal,
  });
  const isFree = engine.profile.server === 'everstep';
  const evaluations = resolveEvaluations(config, source.testSet);
  refuseUnpriced(config, evaluations.schedules, isFree);
  await waitFor(dependencies.checkEvaluators(Object.values(evaluations.evaluators), config.plugins));
  const measuredAs = { renderer: rendererName, contextLength: engine.profile.maxSequenceLength };
  const rowsSite = { ...rowsSiteOf(dependencies, config, measuredAs), onProgress, signal };
  const remarks = await waitFor(remarksOnEvaluators(rowsSite, source, evaluations));
  const plan = planOf(input, evaluations, {
    isFree,
    exampleCount: source.data.trainCount,
    startedAt: dependencies.now().toISOString(),
    remarks: [...(source.remarks ?? []), ...remarks],
  });
  const { codeDiff, ...provenance } = input.provenance;
  const klReference =
    config.kind === 'rl' ? await reach(() => prepareKlReference(dependencies, config, signal)) : null;
  const record: RunRecord = {
    run,
    config,
    evaluators: recordedEvaluators({ config, evaluators: evaluations.evaluators }),
    renderer: rendererName,
    engineUrl: engine.url,
    initialPath,
    ...(input.dataFolder !== undefined && { dataFolder: input.dataFolder }),
    data: source.data,
    ...(source.code && { code: source.code }),
    ...(klReference && { klReference }),
    provenance,
  };
  signal.throwIfAborted();
  if (codeDiff != null) await store.writeCodeDiff(run, `${codeDiff}\n`);
  await store.writeConfig(run, withDigest(record));
  await store.writeState(run, firstState(plan, input.workflowId, engine.url));
  return plan;
}

/** What there is to train on, frozen where it is known before anything is sampled. */
function prepareData(
  dependencies: PrepareDependencies,
  config: TrainingConfig,
  place: DataPlace & Pick<PrepareInput, 'dataFolder'>,
): Promise<PreparedSource> {
  return config.kind === 'sft'
    ? prepareSupervisedData(dependencies, config, place)
    : untilAborted(prepareEnvironments(dependencies, config, place), place.signal);
}

/** What evaluators leave out, and what of theirs is trained on; refuses rows that they cannot measure. */
async function remarksOnEvaluators(
  site: EvaluatorRowsSite,
  { trained }: PreparedSource,
  { evaluators }: Pick<ResolvedEvaluations, 'evaluators'>,
): Promise<string[]> {
  const leftOut = await evaluatorRowRemarks(site, evaluators);
  return [...leftOut, ...(trained ? await sharedRemarks(site.readDataset, trained, evaluators) : [])];
}

function rowsSiteOf(
  { readDataset, tokenizerOf }: Pick<PrepareDependencies, 'readDataset' | 'tokenizerOf'>,
  config: TrainingConfig,
  { contextLength }: Pick<DataPlace, 'contextLength'>,
): Pick<EvaluatorRowsSite, 'readDataset' | 'openSequences'> {
  return {
    readDataset,
    openSequences: () => openSequenceSite(config, { tokenizerOf, contextLength }),
  };
}

/** The service that is to train the model, refused where it does not offer it. */
async function lookUpEngine(
  engines: EngineAccess,
  config: TrainingConfig,
): Promise<Pick<EngineConnection, 'url' | 'profile'>> {
  try {
    const engine = await engines.connect(config.engine, { baseModel: config.model });
    try {
      requireOffered(config.model, await engine.client.capabilities(), engine);
    } finally {
      await engine.client.close();
    }
    return engine;
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'unreachable') throw error;
    const remedy = 'Start the training service, or correct engine.url, --engine or TINKER_BASE_URL.';
    const { retryable } = error;
    throw new DomainError('unreachable', `engine.url: ${error.message} ${remedy}`, {
      retryable,
      cause: error,
    });
  }
}

/** What the workflow of a run decides by. */
export function planOf(
  { run, config }: Pick<PrepareInput, 'run' | 'config'>,
  { schedules }: Pick<ResolvedEvaluations, 'schedules'>,
  facts: {
    readonly exampleCount: number;
    readonly startedAt: string;
    readonly isFree: boolean;
    readonly remarks: readonly string[];
  },
): TrainingPlan {
  const batchSize = config.kind === 'sft' ? config.batchSize : config.groupsPerBatch;
  const epochLength = stepsPerEpoch({ exampleCount: facts.exampleCount, batchSize });
  const totalSteps = config.steps ?? Math.max(1, Math.round(config.epochs * epochLength));
  const remarks = [
    ...facts.remarks,
    ...warmUpRemark(config, totalSteps),
    ...unreachedRemarks(schedules, totalSteps),
  ];
  return {
    run,
    kind: config.kind,
    model: config.model,
    startedAt: facts.startedAt,
    totalSteps,
    stepsPerEpoch: epochLength,
    submitAhead: config.kind === 'sft' ? config.submitAhead : Math.min(1, config.maxStepsOffPolicy),
    checkpoints: {
      saveEvery: config.saveEvery,
      ttlSeconds: config.ttlSeconds,
      rollingSaveEvery: config.rollingSaveEvery,
      rollingTtlSeconds: config.rollingTtlSeconds,
    },
    evaluations: schedules,
    ...budgetOf(config, facts.isFree),
    ...(facts.isFree && { isFree: true }),
    ...(config.kind === 'rl' && { rollouts: rolloutPlanOf(config) }),
    ...(remarks.length > 0 && { remarks }),
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
