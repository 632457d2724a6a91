import type { TrainingConfig } from '../config/training-config';
import { resolveInitialCheckpoint } from '../training/initial-checkpoint';
import { resolveKlReference } from '../training/resolve-kl-reference';
import type { RunRecords } from './run-records';

/**
 * Refuses a config that starts from a checkpoint, or is kept near one, that no run of the store has: `unknown-checkpoint`. A store
 * without any run is taken for one that only the workers see; they refuse then.
 */
export async function checkCheckpoints(config: TrainingConfig, records: RunRecords): Promise<void> {
  if (!namesCheckpoint(config) || (await records.listRuns()).length === 0) return;
  await resolveInitialCheckpoint(records, config);
  if (config.kind === 'rl') await resolveKlReference(records, config);
}

function namesCheckpoint(config: TrainingConfig): boolean {
  return (
    config.initialCheckpoint !== undefined ||
    (config.kind === 'rl' && config.klReference.checkpoint !== undefined)
  );
}
