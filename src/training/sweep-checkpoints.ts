import type { CheckpointRow } from '../core/run';
import { DomainError } from '../core/errors';
import { isOwnCheckpointName } from '../core/schedules/checkpoint-schedule';
import type { TinkerClient } from '../engines/tinker/client';

interface Sweep {
  /** Every model the run had. */
  readonly lives: readonly string[];
  readonly rows: readonly CheckpointRow[];
  readonly signal: AbortSignal;
}

/**
 * Deletes what the run's models saved and nobody knows of: a save was answered to a worker that died, or was made again by
 * the next life of the model. What somebody else saved under a name of their own stays.
 */
export async function sweepCheckpoints(client: TinkerClient, { lives, rows, signal }: Sweep): Promise<void> {
  const known = new Set(rows.flatMap(({ state_path, sampler_path }) => [state_path, sampler_path]));
  for (const modelId of new Set(lives)) {
    for (const path of await savedBy(client, modelId, signal)) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (!known.has(path) && isOwnCheckpointName(name)) await client.deleteCheckpoint(path, { signal });
    }
  }
}

/** A service may forget a model with its last checkpoint. */
async function savedBy(client: TinkerClient, modelId: string, signal: AbortSignal): Promise<string[]> {
  try {
    return (await client.listCheckpoints(modelId, { signal })).map(({ path }) => path);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'session-lost') return [];
    throw error;
  }
}
