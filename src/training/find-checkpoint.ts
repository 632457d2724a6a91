import type { CheckpointRow } from '../core/run';
import type { RunStore } from '../stores/run-store';
import { requireRun } from './run-folder';

export interface FindCheckpointInput {
  readonly run: string;
  readonly step: number;
}

export interface FoundCheckpoint {
  /** Null where no checkpoint of the step can be sampled from. */
  readonly checkpoint: CheckpointRow | null;
  /** Steps of which there is one, the newest last. */
  readonly keptSteps: readonly number[];
  /** Earlier steps that are kept, too, and not listed. */
  readonly otherCount?: number;
}

const LISTED = 12;

/** The kept checkpoint of a step, of the newest lineage that has one. */
export async function findCheckpoint(
  store: RunStore,
  { run, step }: FindCheckpointInput,
): Promise<FoundCheckpoint> {
  await requireRun(store, run);
  const rows = await store.readCheckpoints(run);
  const kept = rows.filter(({ sampler_path, rolling }) => sampler_path !== null && rolling !== true);
  const steps = [...new Set(kept.map((row) => row.step))].sort((left, right) => left - right);
  return {
    checkpoint: kept.findLast((row) => row.step === step) ?? null,
    keptSteps: steps.slice(-LISTED),
    otherCount: Math.max(0, steps.length - LISTED),
  };
}
