/** Keys as the field's other tools spell them, and what to write here instead. */

interface Spelling {
  /** Our key, with dots for nested ones. */
  readonly ours?: string;
  /** Where there is no such key: what to do. */
  readonly remedy?: string;
}

const RENAMED: Readonly<Record<string, Spelling>> = {
  adam_beta1: { ours: 'adam.beta1' },
  adam_beta2: { ours: 'adam.beta2' },
  adam_eps: { ours: 'adam.eps' },
  base_url: { ours: 'engine.url' },
  dataset_builder: { ours: 'dataset' },
  eval_steps: { ours: 'evalEvery' },
  evaluator_builders: { ours: 'evaluators' },
  file_path: { ours: 'dataset.path' },
  grad_clip_norm: { ours: 'adam.gradClipNorm' },
  gradient_accumulation_steps: { ours: 'batchSize', remedy: 'a step is one batch however it is cut up' },
  infrequent_evaluator_builders: { ours: 'infrequentEvaluators' },
  learning_rate_schedule: { ours: 'lrSchedule' },
  load_checkpoint_path: { ours: 'initialCheckpoint' },
  log_path: {
    remedy: 'a run is known by its name: give --run NAME, and --store DIR for the folder of all runs',
  },
  lora_r: { ours: 'loraRank' },
  lr: { ours: 'learningRate' },
  lr_scheduler_type: { ours: 'lrSchedule.type' },
  max_seq_length: { ours: 'maxLength' },
  max_concurrent: { ours: 'rolloutConcurrency' },
  max_steps: { ours: 'steps' },
  model_name: { ours: 'model' },
  model_name_or_path: { ours: 'model' },
  num_epochs: { ours: 'epochs' },
  num_train_epochs: { ours: 'epochs' },
  output_dir: {
    remedy: 'a run is known by its name: give --run NAME, and --store DIR for the folder of all runs',
  },
  per_device_train_batch_size: { ours: 'batchSize' },
  recipe_name: { ours: 'kind' },
  renderer_name: { ours: 'renderer' },
  rollouts_per_example: { ours: 'groupSize' },
  run_name: { remedy: 'give --run NAME on the command line' },
  save_steps: { ours: 'saveEvery' },
  test_size: { ours: 'dataset.testSize' },
  warmup_steps: { ours: 'lrSchedule.warmupSteps' },
  weight_decay: { ours: 'adam.weightDecay' },
};

/** What to write instead of `key`, if it is a spelling of the field: a renamed key, or ours in snake_case or kebab-case. */
export function fieldSpelling(key: string, knownKeys: readonly string[]): Spelling | undefined {
  const snake = key
    .replaceAll('-', '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
  const ours = snake.replaceAll(/(?<!_)_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  if (ours !== key && knownKeys.includes(ours)) return { ours };
  return Object.hasOwn(RENAMED, snake) ? RENAMED[snake] : undefined;
}
