import type { ReinforcementConfig } from '../config/reinforcement-config';
import { DomainError } from '../core/errors';
import { readCheckpointName } from '../stores/checkpoint-name';
import type { RunStore } from '../stores/run-store';

/** Weights that a policy is kept near; `path` null is the model as it is. */
export interface KlReference {
  readonly model: string;
  readonly path: string | null;
}

/** Where the weights of the reference are, by the name that a config gives; null without a penalty. */
export async function resolveKlReference(
  store: Pick<RunStore, 'readCheckpoints' | 'runFolder'>,
  config: ReinforcementConfig,
): Promise<KlReference | null> {
  if (config.klPenaltyCoef === 0) return null;
  const { model = config.model, checkpoint } = config.klReference;
  if (checkpoint === undefined) return { model, path: null };
  if (checkpoint.includes('://')) return { model, path: checkpoint };
  return { model, path: await samplerPathOf(store, checkpoint) };
}

async function samplerPathOf(
  store: Pick<RunStore, 'readCheckpoints' | 'runFolder'>,
  place: string,
): Promise<string> {
  const { run, step } = await readCheckpointName(place, store);
  const rows = (await store.readCheckpoints(run)).filter((row) => row.sampler_path !== null);
  const row = step === null ? rows.at(-1) : rows.find((candidate) => candidate.step === step);
  if (row?.sampler_path != null) return row.sampler_path;
  const known = rows.map((candidate) => candidate.step).join(', ') || 'none';
  throw new DomainError(
    'unknown-checkpoint',
    `klReference.checkpoint: "${place}" has no sampler weights. Steps of "${run}" that have: ${known}.`,
  );
}
