import { ownValue } from '../../../../core/own-value';
/** Fields of each request, by the protocol's names; the service's own client sends no others. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  'client/config': ['sdk_version'],
  'client/dynamic_config': ['sdk_version'],
  'auth/token': [],
  create_session: ['tags', 'user_metadata', 'sdk_version', 'project_id', 'display_name', 'type'],
  session_heartbeat: ['session_id', 'type'],
  'sessions/:id/finish': ['reason', 'detail'],
  create_model: [
    'session_id',
    'model_seq_id',
    'base_model',
    'lora_config',
    'user_metadata',
    'optimizer_config',
    'type',
  ],
  unload_model: ['model_id', 'type'],
  get_info: ['model_id', 'type'],
  optim_step: ['model_id', 'seq_id', 'adam_params', 'optimizer_params', 'type'],
  save_weights: ['model_id', 'path', 'seq_id', 'ttl_seconds', 'overwrite', 'user_metadata', 'type'],
  save_weights_for_sampler: [
    'model_id',
    'path',
    'seq_id',
    'ttl_seconds',
    'user_metadata',
    'kind',
    'sampling_session_seq_id',
    'type',
  ],
  save_weights_external: ['model_id', 'path', 'seq_id', 'ttl_seconds', 'age_encryption_recipients', 'type'],
  copy_weights: [
    'source_path',
    'session_id',
    'model_seq_id',
    'destination_project_id',
    'ttl_seconds',
    'weights_access_token',
  ],
  load_weights: [
    'model_id',
    'seq_id',
    'session_id',
    'model_seq_id',
    'path',
    'optimizer',
    'base_model',
    'optimizer_config',
    'user_metadata',
    'weights_access_token',
    'type',
  ],
  weights_info: ['tinker_path'],
  create_sampling_session: ['session_id', 'sampling_session_seq_id', 'model_path', 'base_model', 'type'],
  asample: [
    'sampling_session_id',
    'model_path',
    'base_model',
    'seq_id',
    'num_samples',
    'prompt',
    'sampling_params',
    'prompt_logprobs',
    'topk_prompt_logprobs',
    'topk_sample_logprobs',
    'target_prompt_logprobs',
    'prompt_alt_tokens_k',
    'prompt_logprobs_last_n',
    'record_stability_info',
    'type',
  ],
  retrieve_future: ['request_id', 'allow_metadata_only'],
  cancel_future: ['request_id'],
};

const KNOWN_INSIDE: Readonly<Record<string, readonly string[]>> = {
  lora_config: ['rank', 'seed', 'train_unembed', 'train_mlp', 'train_attn'],
  optimizer_config: ['type'],
  adam_params: ['learning_rate', 'beta1', 'beta2', 'eps', 'weight_decay', 'grad_clip_norm'],
  sampling_params: ['max_tokens', 'seed', 'stop', 'temperature', 'top_k', 'top_p'],
};

/** Where a body holds a field that the protocol does not have; null where all are known. */
export function unknownField(route: string, body: unknown): string | null {
  const known = ownValue(KNOWN, route);
  if (known === undefined || !isRecord(body)) return null;
  for (const [name, value] of Object.entries(body)) {
    if (!known.includes(name)) return name;
    const inside = ownValue(KNOWN_INSIDE, name);
    const unknown = inside && isRecord(value) && Object.keys(value).find((key) => !inside.includes(key));
    if (typeof unknown === 'string') return `${name}.${unknown}`;
  }
  return null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}
