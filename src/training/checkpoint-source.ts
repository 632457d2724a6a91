import type { EngineSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { CheckpointRow } from '../core/run';
import { readCheckpointName } from '../stores/checkpoint-name';
import type { RunStore } from '../stores/run-store';
import type { RunRecord } from './run-folder';
import { requireRun } from './run-folder';

type SavedRuns = Pick<RunStore, 'exists' | 'readCheckpoints' | 'readConfig' | 'root' | 'runFolder'>;

/** Sampler weights of RUN@STEP, of RUN@best, or of RUN's newest checkpoint, as something that can be asked. */
export async function findCheckpointSource(store: SavedRuns, text: string): Promise<EngineSource> {
  const { run, step } = await readCheckpointName(text, store);
  await requireRun(store, run);
  const record = await store.readConfig<RunRecord>(run);
  const rows = (await store.readCheckpoints(run)).filter(({ sampler_path }) => sampler_path !== null);
  const row = step === null ? rows.at(-1) : rows.findLast((each) => each.step === step);
  if (!row?.sampler_path) {
    const known = [...new Set(rows.map((each) => each.step))].join(', ') || 'none yet';
    throw new DomainError(
      'unknown-checkpoint',
      `checkpoint "${text}" has no sampler weights. Steps of "${run}" with some: ${known}.`,
    );
  }
  return savedWeights(record, { run, row, path: row.sampler_path });
}

interface SavedWeights {
  readonly run: string;
  readonly row: CheckpointRow;
  /** Of the sampler weights; null of a base model. */
  readonly path: string | null;
}

/** Weights that a run saved, with what it says of the model. */
export function savedWeights(
  { config, renderer }: RunRecord,
  { run, row, path }: SavedWeights,
): EngineSource {
  const { url, profile } = config.engine;
  return {
    type: 'engine',
    model: config.model,
    path,
    label: `${run}@${row.step}`,
    identity: `${run}/${row.step}/${row.lineage}`,
    renderer,
    ...(config.templateArguments && { templateArguments: config.templateArguments }),
    ...(url !== undefined && { url }),
    ...(profile && { profile }),
  };
}
