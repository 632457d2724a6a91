import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import { readCheckpointName } from '../stores/checkpoint-name';
import type { RunStore } from '../stores/run-store';

/**
 * The state a run starts from, as the service's own URI; null for the base model.
 *
 * `RUN@STEP` or `RUN@best` names a checkpoint of another run in the store. It is looked up once, when the run is prepared: what
 * becomes of that other run's folder later is nothing to this one.
 */
export async function resolveInitialCheckpoint(
  store: Pick<RunStore, 'readCheckpoints' | 'runFolder'>,
  { initialCheckpoint }: TrainingConfig,
): Promise<string | null> {
  if (initialCheckpoint === undefined || initialCheckpoint.includes('://')) return initialCheckpoint ?? null;
  const { run, step } = await readCheckpointName(initialCheckpoint, store);
  const rows = (await store.readCheckpoints(run)).filter((row) => row.state_path !== null);
  const row = step === null ? rows.at(-1) : rows.find((candidate) => candidate.step === step);
  if (row) return row.state_path;
  const known = rows.map((candidate) => candidate.step).join(', ');
  throw new DomainError(
    'unknown-checkpoint',
    `initialCheckpoint: "${initialCheckpoint}" has no saved state. ` +
      (known === ''
        ? `No run "${run}" with checkpoints is in the store. Train it first, or name another run: npx everstep runs list.`
        : `Steps of "${run}" that have: ${known}. Name one of them, as "${run}@${String(rows.at(-1)?.step)}".`),
  );
}
