/** Keys of a supervised config of tinker-cookbook (`config.json` of its loop, up to 0.6) and what becomes of each. */

/** A key whose meaning is lost or changed on the way, and why. */
export interface NotCarried {
  readonly key: string;
  readonly reason: string;
}

/** Carried over as they are: our key, with a dot for nested ones. Null is left to our default. */
export const CARRIED_KEYS: Readonly<Record<string, string>> = {
  adam_beta1: 'adam.beta1',
  adam_beta2: 'adam.beta2',
  adam_eps: 'adam.eps',
  base_url: 'engine.url',
  eval_every: 'evalEvery',
  infrequent_eval_every: 'infrequentEvalEvery',
  learning_rate: 'learningRate',
  load_checkpoint_path: 'initialCheckpoint',
  lora_rank: 'loraRank',
  lr_schedule: 'lrSchedule',
  model_name: 'model',
  num_epochs: 'epochs',
  rolling_save_every: 'rollingSaveEvery',
  rolling_ttl_seconds: 'rollingTtlSeconds',
  save_every: 'saveEvery',
  submit_ahead: 'submitAhead',
  ttl_seconds: 'ttlSeconds',
};

interface LeftOutKey {
  /** With one of these values there is nothing to carry over. */
  readonly silent: readonly unknown[];
  readonly reason: string;
}

const WITHOUT_LOGGERS =
  'runs are not logged to Weights & Biases; metrics.jsonl and scores.jsonl of the run hold every number';

/** What has no place in our config. */
export const LEFT_OUT_KEYS: Readonly<Record<string, LeftOutKey>> = {
  // Saves never hold up training here, whatever this says.
  async_periodic_saves: { silent: [true, false], reason: '' },
  enable_trace: { silent: [false], reason: 'the durations of every step are in timing.jsonl of the run' },
  log_path: {
    silent: [],
    reason: 'a run is known by its name: give --run NAME, and --store DIR for the folder of all runs',
  },
  recipe_name: { silent: [], reason: 'it only labelled the session at the service' },
  save_every_seconds: { silent: [0], reason: 'checkpoints are made by steps: see saveEvery' },
  save_every_tokens: { silent: [0], reason: 'checkpoints are made by steps: see saveEvery' },
  session_name: { silent: [null], reason: 'sessions at the service carry no display name; see engine.tags' },
  span_chart_every: { silent: [0], reason: 'the durations of every step are in timing.jsonl of the run' },
  wandb_name: { silent: [null], reason: WITHOUT_LOGGERS },
  wandb_project: { silent: [null], reason: WITHOUT_LOGGERS },
};

/** Keys that only configs of other kinds of training have. */
const OTHER_KINDS: readonly (readonly [kind: string, keys: readonly string[]])[] = [
  ['preference training (DPO)', ['dpo_beta', 'num_replicas', 'reference_model_name']],
  ['distillation', ['dataset_configs', 'teacher_model', 'teacher_sync_every']],
  [
    'reinforcement learning',
    ['loss_fn', 'kl_penalty_coef', 'num_substeps', 'async_config', 'stream_minibatch_config', 'max_tokens'],
  ],
];

export interface OtherKind {
  readonly kind: string;
  readonly key: string;
}

/** What else a config is for, and the key that tells. */
export function otherKindOf(written: Readonly<Record<string, unknown>>): OtherKind | null {
  for (const [kind, keys] of OTHER_KINDS) {
    const key = keys.find((candidate) => Object.hasOwn(written, candidate));
    if (key !== undefined) return { kind, key };
  }
  return null;
}
