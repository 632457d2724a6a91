import type { CanaryDependencies } from '../activities/canary-activities';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createRunStore } from '../stores/run-store';
import { tokenizerOf } from '../renderers/model-tokenizer';
import type { RunDependencies } from '../activities/run-activities';
import { createPythonLink } from '../activities/python-link';
import type { WorkerDescription } from '../activities/worker-activities';
import type { Tokenizer } from '../core/tokenizer';
import { EVERSTEP_VERSION } from '../core/version';
import type { BackfillDependencies } from '../activities/backfill-activities';
import type { BenchmarkDependencies } from '../activities/benchmark-activities';
import type { EvaluationDependencies } from '../activities/evaluation-activities';
import type { TrainingDependencies } from '../activities/training-activities';
import { createBenchmarkRowReader } from '../evaluation/benchmarks/benchmark-rows';
import type { PythonLink } from '../evaluation/python/python-link';
import type { JudgeAccess } from '../evaluation/judges/judge-access';
import { createPermitPool } from '../evaluation/runner/permits';
import { createActiveRuns, loadActiveRun } from '../training/active-runs';
import { checkEvaluators } from '../training/check-evaluators';
import { createDatasetReader } from '../training/dataset-source';
import type { EngineAccess } from '../training/engine-access';
import { createEngineAccess } from '../training/engine-access';
import { createModelAccess } from '../training/model-access';
import type { LoadPlugins } from '../training/plugin-file';
import { createPluginLoader } from '../training/plugin-file';
import type { SampleRolloutsDependencies } from '../training/reinforcement/sample-rollouts';
import { createSamplingRuns } from '../training/reinforcement/sampling-runs';
import { StoreNews } from '../training/store-news';
import type { InspectAccess } from '../evaluation/inspect/run/inspect-access';
import { createInspectAccess } from './inspect-access';
import { createJudgeAccess } from './judge-access';
import { checkBenchmarkRequest, checkCanary, checkCell, checkColumn } from '../config/benchmark-requests';
import { parseTrainingConfig } from '../config/parse-training-config';
import { createPermissions } from '../config/permissions';
import { webhookValue } from '../config/webhook-values';
import type { Permissions } from '../config/permissions';
import type { RunWorkersOptions } from './worker-options';
import { sharedLimitsFolder } from './shared-limits';

export interface WorkerDependencies {
  readonly description: WorkerDescription;
  readonly runs: RunDependencies;
  readonly training: TrainingDependencies;
  readonly evaluation: EvaluationDependencies;
  readonly benchmarks: BenchmarkDependencies & BackfillDependencies;
  readonly canaries: CanaryDependencies;
  readonly rollouts: SampleRolloutsDependencies;
}

/** A segment that cannot reach the service hands the wait to its run, which shows it. */
const TRAINING_PATIENCE_MS = 5000;
/** An evaluation has nobody to hand its wait to but the retry of its activity. */
const EVALUATION_PATIENCE_MS = 60_000;

/** Wires what activities need. One set a process, shared by its roles. */
export function createDependencies(
  options: Omit<RunWorkersOptions, 'connection' | 'roles' | 'concurrency' | 'logger'> &
    Partial<Pick<RunWorkersOptions, 'concurrency' | 'logger'>>,
  stopping: AbortSignal,
): WorkerDependencies {
  mkdirSync(options.store, { recursive: true });
  const hub = hubOf(options);
  const store = createRunStore(options.store);
  const { permissions, engines, patientEngines } = openServices(options);
  const python = createPythonLink();
  const readDataset = createDatasetReader({
    ...hub,
    python: { link: python, folder: join(options.store, 'python') },
  });
  const tokenizer = (model: string) => tokenizerOf(model, hub);
  const now = () => new Date();
  const readBenchmarkRows = (folder: string | undefined = options.benchmarkDataFolder) =>
    createBenchmarkRowReader({ hub, ...(folder !== undefined && { dataFolder: folder }) });
  const { requireCode } = permissions;
  const loadPlugins = createPluginLoader({ fallback: options.plugins, requireCode });
  const runs = createActiveRuns((run) => loadActiveRun({ store, engines, loadPlugins }, run));
  const permitsOf = createPermitPool();
  const asking = { engines: patientEngines, tokenizer, python, permitsOf, permissions, stopping, now };
  const judges = createJudgeAccess(options, { ...asking, runs: store });
  const environments = {
    ...{ readBenchmarkRows, readDataset, loadPlugins, judges },
    pythonEnvironments: { link: python, folder: join(options.store, 'python') },
  };
  const sampling = createSamplingRuns(store, environments);
  const news = new StoreNews();
  const inspect = createInspectAccess({ ...options, permissions });
  return {
    description: { everstepVersion: EVERSTEP_VERSION, node: process.version },
    runs: {
      ...{ store, engines, runs, readDataset, tokenizerOf: tokenizer },
      checkConfig: (config) => parseTrainingConfig(config, 'The config that the workflow was started with'),
      checkEvaluators: checkEvaluators(loadPlugins, { python, inspect }),
      ...environments,
    },
    training: { store, engines, runs, news, stopping },
    evaluation: {
      ...{ store, engines: patientEngines, readDataset, tokenizerOf: tokenizer, sampling },
      ...{ python, judges, inspect, now },
      ...{ readBenchmarkRows, loadPlugins, checkCell },
    },
    benchmarks: benchmarkDependencies(options, {
      ...asking,
      loadPlugins,
      readBenchmarkRows,
      judges,
      inspect,
    }),
    canaries: { checkCanary, webhookSecrets: { valueOf: webhookValue, mayHave: permissions.mayTell } },
    rollouts: {
      ...{ ...environments, store, engines, tokenizerOf: tokenizer, sampling, news },
      mayWait: options.concurrency?.['sampling'] !== 1,
    },
  };
}

function hubOf({
  cacheFolder,
  dataFolder,
  huggingFaceToken,
  huggingFaceUrl,
}: Pick<RunWorkersOptions, 'cacheFolder' | 'dataFolder' | 'huggingFaceToken' | 'huggingFaceUrl'>) {
  return {
    cacheFolder: cacheFolder ?? join(dataFolder, 'cache'),
    ...(huggingFaceToken !== undefined && { token: huggingFaceToken }),
    ...(huggingFaceUrl !== undefined && { hubUrl: huggingFaceUrl }),
  };
}

/** Training services that get this worker's key where they may have it. */
function openServices(options: Parameters<typeof permissionsOf>[0]) {
  const permissions = permissionsOf(options);
  const { apiKey, ...engine } = options.engine;
  const service = { ...engine, keyFor: (url: string) => permissions.keyFor(url, apiKey) };
  return {
    permissions,
    engines: createEngineAccess({ ...service, unreachableAfterMs: TRAINING_PATIENCE_MS }),
    patientEngines: createEngineAccess({ ...service, unreachableAfterMs: EVALUATION_PATIENCE_MS }),
  };
}

function permissionsOf({
  pluginFolders = [],
  keyAddresses = [],
  inspectModels = [],
  ...options
}: Pick<
  RunWorkersOptions,
  | 'dataFolder'
  | 'store'
  | 'plugins'
  | 'engine'
  | 'pluginFolders'
  | 'startedIn'
  | 'keyAddresses'
  | 'inspectModels'
>): Permissions {
  const { dataFolder, store, plugins, engine, startedIn } = options;
  return createPermissions({
    ...{ dataFolder, store, pluginFolders, keyAddresses, inspectModels },
    ...(startedIn !== undefined && { startedIn }),
    ...(plugins !== undefined && { plugins }),
    ...(engine.url !== undefined && { engineUrl: engine.url }),
  });
}

interface BenchmarkParts {
  readonly loadPlugins: LoadPlugins;
  readonly permissions: Permissions;
  readonly stopping: AbortSignal;
  readonly readBenchmarkRows: BenchmarkDependencies['readBenchmarkRows'];
  readonly engines: EngineAccess;
  readonly tokenizer: (model: string) => Promise<Tokenizer>;
  readonly python: PythonLink;
  readonly judges: JudgeAccess;
  readonly inspect: InspectAccess;
  readonly permitsOf: BenchmarkDependencies['permitsOf'];
  readonly now: () => Date;
}

function benchmarkDependencies(
  options: Pick<RunWorkersOptions, 'store' | 'dataFolder' | 'openaiApiKey'>,
  { engines, tokenizer, permissions, stopping, ...parts }: BenchmarkParts,
): WorkerDependencies['benchmarks'] {
  return {
    ...parts,
    ...{ checkRequest: checkBenchmarkRequest, checkColumn },
    models: createModelAccess({
      engines,
      tokenizerOf: tokenizer,
      sharedFolder: sharedLimitsFolder(options),
      keyFor: (url) => permissions.keyFor(url, options.openaiApiKey),
      stopping,
    }),
  };
}
