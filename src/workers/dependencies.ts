import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createRunStore } from '../stores/run-store';
import { tokenizerOf } from '../renderers/model-tokenizer';
import type { RunDependencies } from '../activities/run-activities';
import type { WorkerDescription } from '../activities/worker-activities';
import { EVERSTEP_VERSION } from '../core/version';
import type { TrainingDependencies } from '../activities/training-activities';
import { createActiveRuns } from '../training/active-runs';
import { checkEvaluators } from '../training/check-evaluators';
import { createDatasetReader } from '../training/dataset-source';
import { createEngineAccess } from '../training/engine-access';
import type { EvaluateSnapshotDependencies } from '../training/evaluate-snapshot';
import type { RunWorkersOptions } from './worker-options';

export interface WorkerDependencies {
  readonly description: WorkerDescription;
  readonly runs: RunDependencies;
  readonly training: TrainingDependencies;
  readonly evaluation: EvaluateSnapshotDependencies;
}

/** A segment that cannot reach the service hands the wait to its run, which shows it. */
const TRAINING_PATIENCE_MS = 5000;
/** An evaluation has nobody to hand its wait to but the retry of its activity. */
const EVALUATION_PATIENCE_MS = 60_000;

/** Wires what activities need. One set a process, shared by its roles. */
export function createDependencies(
  options: Omit<RunWorkersOptions, 'connection' | 'roles' | 'concurrency' | 'logger'>,
  stopping: AbortSignal,
): WorkerDependencies {
  mkdirSync(options.store, { recursive: true });
  const hub = {
    cacheFolder: options.cacheFolder ?? join(options.dataFolder, 'cache'),
    ...(options.huggingFaceToken !== undefined && { token: options.huggingFaceToken }),
  };
  const store = createRunStore(options.store);
  const engines = createEngineAccess({ ...options.engine, unreachableAfterMs: TRAINING_PATIENCE_MS });
  const patientEngines = createEngineAccess({
    ...options.engine,
    unreachableAfterMs: EVALUATION_PATIENCE_MS,
  });
  const runs = createActiveRuns(store, engines);
  const readDataset = createDatasetReader(hub);
  const tokenizer = (model: string) => tokenizerOf(model, hub);
  const now = () => new Date();
  return {
    description: { everstepVersion: EVERSTEP_VERSION, node: process.version },
    runs: {
      store,
      engines,
      runs,
      readDataset,
      tokenizerOf: tokenizer,
      checkEvaluators: checkEvaluators(options.plugins),
      now,
    },
    training: { store, engines, runs, stopping },
    evaluation: {
      store,
      engines: patientEngines,
      readDataset,
      tokenizerOf: tokenizer,
      now,
      ...(options.plugins !== undefined && { plugins: options.plugins }),
    },
  };
}
