import type { CheckpointMeta } from './checkpoints/checkpoint-files';
import type { CheckpointKind } from './checkpoints/checkpoint-path';
import { formatCheckpointPath } from './checkpoints/checkpoint-path';
import type { TrainingModel } from './training-model';

const TYPES: Readonly<Record<CheckpointKind, string>> = {
  weights: 'training',
  sampler_weights: 'sampler',
  external_weights: 'external',
};

export function describeCheckpoint(meta: CheckpointMeta): object {
  return {
    checkpoint_id: `${meta.kind}/${meta.name}`,
    checkpoint_type: TYPES[meta.kind],
    time: meta.createdAt,
    tinker_path: formatCheckpointPath(meta),
    size_bytes: meta.sizeBytes,
    public: false,
    user_metadata: meta.userMetadata,
    expires_at: meta.expiresAt,
  };
}

interface RunFacts {
  readonly id: string;
  readonly baseModel: string;
  readonly loraRank: number | null;
  readonly lastRequestAt: string;
  readonly userMetadata: Readonly<Record<string, unknown>> | null;
}

/** Runs of this process and those of which checkpoints are left, latest first. */
export function describeRuns(
  models: readonly TrainingModel[],
  checkpoints: readonly CheckpointMeta[],
): RunDescription[] {
  const facts = new Map<string, RunFacts>();
  for (const meta of checkpoints) {
    facts.set(meta.modelId, {
      id: meta.modelId,
      baseModel: meta.baseModel,
      loraRank: meta.lora?.rank ?? null,
      lastRequestAt: meta.createdAt,
      userMetadata: null,
    });
  }
  for (const { origin, lastRequestAt } of models) {
    facts.set(origin.id, {
      id: origin.id,
      baseModel: origin.base.name,
      loraRank: origin.lora?.rank ?? null,
      lastRequestAt,
      userMetadata: origin.userMetadata,
    });
  }
  const saved = new Map<string, CheckpointMeta[]>();
  for (const meta of checkpoints) {
    const others = saved.get(meta.modelId);
    if (others) others.push(meta);
    else saved.set(meta.modelId, [meta]);
  }
  return [...facts.values()]
    .sort((one, other) => (one.lastRequestAt > other.lastRequestAt ? -1 : 1))
    .map((run) => describeRun(run, saved.get(run.id) ?? []));
}

export type RunDescription = ReturnType<typeof describeRun>;

function describeRun(run: RunFacts, checkpoints: readonly CheckpointMeta[]) {
  const last = (kind: CheckpointMeta['kind']): object | null => {
    const meta = checkpoints.findLast((checkpoint) => checkpoint.kind === kind);
    return meta ? describeCheckpoint(meta) : null;
  };
  return {
    training_run_id: run.id,
    base_model: run.baseModel,
    model_owner: 'local',
    is_lora: run.loraRank !== null,
    lora_rank: run.loraRank,
    corrupted: false,
    last_request_time: run.lastRequestAt,
    last_checkpoint: last('weights'),
    last_sampler_checkpoint: last('sampler_weights'),
    user_metadata: run.userMetadata,
  };
}
