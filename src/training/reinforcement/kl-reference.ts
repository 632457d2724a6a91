import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { DomainError } from '../../core/errors';
import type { RunStore } from '../../stores/run-store';

/** Weights that a policy is kept near; `path` null is the model as it is. */
export interface KlReference {
  readonly model: string;
  readonly path: string | null;
}

/** The reference a config asks for, looked up once, when the run is prepared; null without a penalty. */
export async function resolveKlReference(
  store: RunStore,
  config: ReinforcementConfig,
): Promise<KlReference | null> {
  if (config.klPenaltyCoef === 0) return null;
  const { model = config.model, checkpoint } = config.klReference;
  if (checkpoint === undefined) return { model, path: null };
  if (checkpoint.includes('://')) return { model, path: checkpoint };
  return { model, path: await samplerPathOf(store, checkpoint) };
}

async function samplerPathOf(store: RunStore, place: string): Promise<string> {
  const [run = '', step] = place.split('@');
  const rows = (await store.readCheckpoints(run)).filter((row) => row.sampler_path !== null);
  const row = step === undefined ? rows.at(-1) : rows.find((candidate) => candidate.step === Number(step));
  if (row?.sampler_path != null) return row.sampler_path;
  const known = rows.map((candidate) => candidate.step).join(', ') || 'none';
  throw new DomainError(
    'checkpoint-missing',
    `klReference.checkpoint: "${place}" has no sampler weights. Steps of "${run}" that have: ${known}.`,
  );
}
