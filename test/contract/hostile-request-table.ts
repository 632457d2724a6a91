/** What there is to ask of an engine, and what nobody should ask it. */

/** Names that exist; hostile requests are made of valid ones with a part exchanged. */
export interface Names {
  readonly session: string;
  /** Finished by the requests. */
  readonly spareSession: string;
  readonly model: string;
  /** Unloaded by the requests. */
  readonly spareModel: string;
  readonly sampler: string;
  readonly baseModel: string;
  readonly promise: string;
}

type Body = Readonly<Record<string, unknown>>;

export interface Route {
  /** Path parameters by name. */
  readonly params?: (names: Names) => Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** A valid body; null where there is none. */
  readonly body: ((names: Names) => Body) | null;
}

const tensors = {
  data: [
    {
      model_input: { chunks: [{ type: 'encoded_text', tokens: [1, 2, 3] }] },
      loss_fn_inputs: {
        target_tokens: { data: [2, 3, 4], dtype: 'int64', shape: [3] },
        weights: { data: [1, 1, 1], dtype: 'float32', shape: [3] },
      },
    },
  ],
  loss_fn: 'cross_entropy',
  loss_fn_config: {},
};

const checkpoint = ({ model }: Names): Record<string, string> => ({
  run: model,
  kind: 'weights',
  name: 'kept',
});
const saving = ({ model }: Names): Body => ({
  model_id: model,
  seq_id: null,
  path: 'a-name',
  ttl_seconds: 60,
  overwrite: false,
  user_metadata: {},
});
const one = ({ model }: Names): Record<string, string> => ({ run: model });
const session = ({ session: id }: Names): Record<string, string> => ({ id });
const page = { limit: '10', offset: '0' };

/** Every route of the engine. The test fails for one that is not here, so that a new route is attacked too. */
export const ROUTES: Readonly<Record<string, Route>> = {
  'GET /metrics': { body: null },
  'GET /healthz': { body: null },
  'GET /everstep/applied_steps': { body: null, query: { model_id: 'x' } },
  'POST /api/v1/client/config': { body: () => ({ sdk_version: '1' }) },
  'POST /api/v1/client/dynamic_config': { body: () => ({ sdk_version: '1' }) },
  'POST /api/v1/telemetry': { body: () => ({ events: [] }) },
  'GET /api/v1/healthz': { body: null },
  'GET /api/v1/get_server_capabilities': { body: null },
  'POST /api/v1/create_session': { body: () => ({ tags: ['a'], user_metadata: { a: 1 } }) },
  'POST /api/v1/session_heartbeat': { body: (names) => ({ session_id: names.session }) },
  'GET /api/v1/sessions': { body: null, query: page },
  'GET /api/v1/sessions/:id': { body: null, params: session },
  'POST /api/v1/sessions/:id/finish': {
    body: () => ({ reason: { type: 'success' } }),
    params: ({ spareSession }) => ({ id: spareSession }),
  },
  'POST /api/v1/create_model': {
    body: (names) => ({
      session_id: names.session,
      model_seq_id: 7,
      base_model: names.baseModel,
      lora_config: { rank: 2, seed: 1, train_unembed: true, train_mlp: true, train_attn: true },
      user_metadata: {},
    }),
  },
  'POST /api/v1/unload_model': { body: ({ spareModel }) => ({ model_id: spareModel }) },
  'POST /api/v1/get_info': { body: ({ model }) => ({ model_id: model }) },
  'POST /api/v1/optim_step': {
    body: ({ model }) => ({
      model_id: model,
      seq_id: null,
      adam_params: {
        learning_rate: 0.1,
        beta1: 0.9,
        beta2: 0.95,
        eps: 1e-8,
        weight_decay: 0,
        grad_clip_norm: 1,
      },
    }),
  },
  'POST /api/v1/save_weights': { body: saving },
  'POST /api/v1/save_weights_for_sampler': {
    body: (names) => ({ ...saving(names), sampling_session_seq_id: 5 }),
  },
  'POST /api/v1/load_weights': {
    body: ({ model }) => ({
      model_id: model,
      seq_id: null,
      path: `tinker://${model}/weights/kept`,
      optimizer: true,
    }),
  },
  'POST /api/v1/save_weights_external': {
    body: (names) => ({ ...saving(names), age_encryption_recipients: [] }),
  },
  'POST /api/v1/copy_weights': {
    body: ({ model, session: id }) => ({
      source_path: `tinker://${model}/weights/kept`,
      session_id: id,
      model_seq_id: 8,
      ttl_seconds: 60,
    }),
  },
  'POST /api/v1/forward_backward': {
    body: ({ model }) => ({ model_id: model, seq_id: null, forward_backward_input: tensors }),
  },
  'POST /api/v1/forward': {
    body: ({ model }) => ({ model_id: model, seq_id: null, forward_input: tensors }),
  },
  'POST /api/v1/create_sampling_session': {
    body: (names) => ({
      session_id: names.session,
      sampling_session_seq_id: 6,
      model_path: `tinker://${names.model}/weights/kept`,
      base_model: names.baseModel,
    }),
  },
  'GET /api/v1/samplers/:id': { body: null, params: ({ sampler }) => ({ id: sampler }) },
  'POST /api/v1/asample': {
    body: ({ sampler }) => ({
      sampling_session_id: sampler,
      seq_id: null,
      num_samples: 1,
      prompt: { chunks: [{ type: 'encoded_text', tokens: [1, 2] }] },
      sampling_params: { max_tokens: 2, temperature: 1, top_k: -1, top_p: 1, seed: 1, stop: ['a'] },
      prompt_logprobs: false,
      topk_prompt_logprobs: 0,
    }),
  },
  'POST /api/v1/retrieve_future': { body: ({ promise }) => ({ request_id: promise }) },
  'POST /api/v1/cancel_future': { body: ({ promise }) => ({ request_id: promise }) },
  'GET /api/v1/checkpoints': { body: null, query: page },
  'GET /api/v1/training_runs/:run/checkpoints': { body: null, params: one, query: page },
  'POST /api/v1/weights_info': { body: ({ model }) => ({ tinker_path: `tinker://${model}/weights/kept` }) },
  'DELETE /api/v1/training_runs/:run/checkpoints/:name': {
    body: null,
    params: ({ model }) => ({ run: model, name: 'kept' }),
  },
  'DELETE /api/v1/training_runs/:run/checkpoints/:kind/:name': {
    body: null,
    params: (names) => ({ ...checkpoint(names), name: 'never-saved' }),
  },
  'PUT /api/v1/training_runs/:run/checkpoints/:kind/:name/ttl': {
    body: () => ({ ttl_seconds: 600 }),
    params: checkpoint,
  },
  'POST /api/v1/training_runs/:run/checkpoints/:kind/:name/publish': { body: () => ({}), params: checkpoint },
  'DELETE /api/v1/training_runs/:run/checkpoints/:kind/:name/publish': { body: null, params: checkpoint },
  'GET /api/v1/training_runs/:run/checkpoints/:kind/:name/archive': { body: null, params: checkpoint },
  'GET /api/v1/training_runs/:run/checkpoints/:kind/:name/archive.tar.gz': { body: null, params: checkpoint },
  'GET /api/v1/training_runs/:run/checkpoints/:kind/:name/external_weights_urls': {
    body: null,
    params: checkpoint,
  },
  'GET /api/v1/training_runs/:run/checkpoints/:kind/:name/files/:file': {
    body: null,
    params: (names) => ({ ...checkpoint(names), file: 'model.safetensors' }),
  },
  'POST /api/v1/auth/token': { body: () => ({}) },
  'GET /api/v1/auth/apikey/me': { body: null },
  'DELETE /api/v1/auth/apikey/me': { body: null },
  'GET /api/v1/audit': { body: null },
  'GET /api/v1/billing/usage/events': { body: null },
  'GET /api/v1/billing/usage/checkpoints/current': { body: null },
  'PUT /api/v1/sessions/:id/project': { body: () => ({ project_id: 'p' }), params: session },
  'POST /api/v1/sessions/search': { body: () => ({ limit: 50 }) },
  'GET /api/v1/sessions/:id/trace_export': { body: null, params: session },
  'POST /api/v1/create_custom_loss': { body: (names) => ({ session_id: names.session }) },
  'POST /api/v1/join_sampling_session': { body: ({ sampler }) => ({ sampling_session_id: sampler }) },
  'POST /api/v1/retrieve_futures': { body: () => ({ retrieved_request_ids: [] }) },
  'GET /api/v1/training_runs': { body: null, query: page },
  'GET /api/v1/training_runs/:run': { body: null, params: one },
};

export const TRAVERSALS: readonly string[] = [
  '..',
  '../../../../etc/passwd',
  '/etc/passwd',
  '..\\..\\windows',
  '%2e%2e%2fetc%2fpasswd',
  'tinker://../../weights/kept',
  'tinker://x:train:0/weights/../../../../applied-steps.jsonl',
  'tinker://x:train:0/weights/..%2f..%2fapplied-steps.jsonl',
  'a\u0000b',
  '.unfinished-0-kept',
];

/** Put in the place of every value of a valid body. */
export const WRONG_VALUES: readonly unknown[] = [
  ...[null, true, -1, 0, 0.5, -0.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, 5e-324],
  ...['', 'x', '__proto__', 'constructor', 'NaN', 'y'.repeat(20_000), '\ud800'],
  ...[[], [null], [[]], [-1], {}, { length: 2 ** 31 }, { chunks: [] }, { data: [], shape: [2 ** 40] }],
  ...TRAVERSALS,
];

/** Raw bodies that no route can take, whatever it wants. */
export const RAW_BODIES: Readonly<Record<string, string | Uint8Array>> = {
  'a bracket': '{',
  'a list that breaks off': '[1,',
  'no value': '{"model_id":}',
  'two values': '{} {}',
  NaN: '{"seq_id":NaN}',
  'single quotes': "{'seq_id':1}",
  'a comment': '{"seq_id":1 /* one */}',
  'a zero byte': '\u0000',
  'bytes that are no text': Uint8Array.of(0xff, 0xfe, 0x7b, 0x7d),
  __proto__: '{"__proto__":{"polluted":true}}',
  'constructor.prototype': '{"constructor":{"prototype":{"polluted":true}}}',
  'depth without end': '{"user_metadata":'.repeat(200_000),
};

export const WRONG_CONTENT_TYPES: readonly string[] = [
  'text/plain',
  'text/html; charset=utf-8',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/json/evil',
  ';;;',
  'application/octet-stream',
];

/** What is written to a socket, and how the answer begins; null where it may also just be closed. */
export const RAW_REQUESTS: Readonly<Record<string, readonly [sent: string, answer: RegExp | null]>> = {
  'a negative length': [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n',
    / 400 /,
  ],
  'a length that is no number': [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3\r\n\r\n',
    / 400 /,
  ],
  'two lengths': [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    / 400 /,
  ],
  'a length and chunks': [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    / 400 /,
  ],
  'a chunk of a wrong size': [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n',
    / 400 /,
  ],
  'no host': ['GET /healthz HTTP/1.1\r\n\r\n', / 400 /],
  'a header name with a space': ['GET /healthz HTTP/1.1\r\nHost: x\r\nbad name: 1\r\n\r\n', / 400 /],
  'a header with a bare line feed': ['GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\nb\r\n\r\n', / 400 /],
  'headers beyond measure': [`GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, / 431 /],
  'a thousand headers': [
    `GET /nowhere HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(1000)}Connection: close\r\n\r\n`,
    / 404 /,
  ],
  'an address beyond measure': [`GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, / 4(14|31) /],
  'an unknown method': ['BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n', / 400 /],
  TRACE: ['TRACE /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', / 404 /],
  CONNECT: ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', null],
  'an upgrade': [
    'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    / 404 /,
  ],
  'the greeting of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', / 400 /],
  'an expectation nobody knows': [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    / 417 /,
  ],
  'a whole address of elsewhere': [
    'GET http://example.com/nowhere HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n',
    / 403 /,
  ],
  'a start of TLS': ['\u0016\u0003\u0001\u0002\u0000', / 400 /],
};
