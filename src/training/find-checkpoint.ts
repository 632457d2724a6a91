import type { KeptCheckpoints } from '../core/kept-checkpoints';
import type { CheckpointRow } from '../core/run';
import type { RunStore } from '../stores/run-store';
import { requireRun } from './run-folder';

export interface FindCheckpointInput {
  readonly run: string;
  readonly step: number;
}

export interface FoundCheckpoint extends KeptCheckpoints {
  /** Null where no checkpoint of the step can be sampled from. */
  readonly checkpoint: CheckpointRow | null;
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
  const steps = stepsOf(kept);
  const stateSteps = stepsOf(rows).filter((each) => !steps.includes(each));
  return {
    checkpoint: kept.findLast((row) => row.step === step) ?? null,
    keptSteps: steps.slice(-LISTED),
    otherCount: Math.max(0, steps.length - LISTED),
    stateSteps: stateSteps.slice(-LISTED),
  };
}

function stepsOf(rows: readonly CheckpointRow[]): number[] {
  return [...new Set(rows.map((row) => row.step))].sort((left, right) => left - right);
}
