import { readdirSync } from 'node:fs';
import path from 'node:path';
import { decodeSampleResponse } from '../../../../../src/engines/tinker/codec';
import type { TestEngine } from './engine-driver';
import { containing, startTestEngine } from './engine-driver';
import { BASE_MODEL } from './fake-runtime';

let engine: TestEngine;
let session: string;

beforeEach(async () => {
  engine = await startTestEngine();
  session = await engine.driver.openSession();
});

afterEach(async () => {
  await engine.close();
});

function prompt(...tokens: unknown[]): object {
  return { chunks: [{ type: 'encoded_text', tokens }] };
}

function targets(shape: readonly number[], data: readonly number[]): object {
  return { data, dtype: 'int64', shape };
}

function sparseTargets(rowStarts: readonly number[], columns: readonly number[] | null): object {
  return { ...targets([2, 3], [1, 2]), sparse_crow_indices: rowStarts, sparse_col_indices: columns };
}

async function openBase(sequence = 0): Promise<string> {
  const body = { session_id: session, sampling_session_seq_id: sequence, base_model: BASE_MODEL };
  return (await engine.driver.post('create_sampling_session', body)).body.sampling_session_id;
}

function asample(samplingSession: string | undefined, extra: object = {}): object {
  return {
    ...(samplingSession !== undefined && { sampling_session_id: samplingSession, seq_id: 0 }),
    num_samples: 2,
    prompt: prompt(1, 2, 3),
    sampling_params: { max_tokens: 4, temperature: 0, top_k: -1, top_p: 1, seed: 5, stop: ['\n'] },
    prompt_logprobs: true,
    topk_prompt_logprobs: 0,
    topk_sample_logprobs: 0,
    prompt_alt_tokens_k: 0,
    record_stability_info: false,
    type: 'sample',
    ...extra,
  };
}

async function trainedModel(): Promise<string> {
  const model = await engine.driver.createModel(session);
  await engine.driver.train(model, 1, 9);
  const step = await engine.driver.step(model, 2, 1);
  await engine.driver.retrieve(step.body.request_id);
  return model;
}

test('a session over the base model draws from it, in both codecs', async () => {
  const sampler = await openBase();
  const accepted = await engine.driver.post('asample', asample(sampler));

  const json = await engine.driver.retrieve(accepted.body.request_id);
  const binary = await engine.driver.retrieve(accepted.body.request_id, { accept: 'application/x-protobuf' });

  expect(sampler).toBe(`${session}:sample:0`);
  expect(new Set(accepted.body.sample_sequence_ids).size).toBe(2);
  expect(json.body).toMatchObject({
    sequences: [
      { tokens: [0, 0, 0, 0], logprobs: [-1, -1, -1, -1], stop_reason: 'length' },
      { tokens: [0, 0, 0, 0] },
    ],
    prompt_logprobs: [null, -2, -2],
  });
  expect(decodeSampleResponse(binary.bytes).promptLogprobs).toEqual([null, -2, -2]);
  const metrics = (await engine.driver.get('/metrics')).bytes.toString();
  expect(metrics).toMatch(/^everstep_engine_tokens_sampled_total 8$/m);
});

test('a prompt is scored only at its end where no more is asked for', async () => {
  const sampler = await openBase();
  const drawn = await engine.driver.finish('asample', asample(sampler, { prompt_logprobs_last_n: 1 }));
  const again = await engine.driver.post('asample', asample(sampler, { prompt_logprobs_last_n: 2 }));

  expect(drawn.body).toMatchObject({ prompt_logprobs: [null, null, -2] });
  expect(again).toMatchObject({ status: 400, body: { detail: containing('different request') } });
});

test('a session describes itself', async () => {
  const sampler = await openBase(3);

  expect((await engine.driver.get(`samplers/${encodeURIComponent(sampler)}`)).body).toEqual({
    sampler_id: sampler,
    base_model: BASE_MODEL,
    model_path: null,
  });
  expect((await engine.driver.get('samplers/nope')).status).toBe(404);
});

test('sessions over the same named weights share one sampler, which outlives the training', async () => {
  const model = await trainedModel();
  const saved = await engine.driver.finish('save_weights_for_sampler', {
    model_id: model,
    seq_id: 3,
    path: 'w',
  });
  await engine.driver.finish('unload_model', { model_id: model });
  const sessions = [0, 1].map((number) =>
    engine.driver.post('create_sampling_session', {
      session_id: session,
      sampling_session_seq_id: number,
      model_path: saved.body.path,
    }),
  );

  const drawn = await Promise.all(
    (await Promise.all(sessions)).map(({ body }) =>
      engine.driver.finish('asample', asample(body.sampling_session_id)),
    ),
  );

  expect(drawn.map(({ body }) => body.sequences[0]?.tokens)).toEqual([
    [9, 9, 9, 9],
    [9, 9, 9, 9],
  ]);
  expect(engine.runtime.samplerCount).toBe(1);
});

test('weights saved for a session only live as long as the session', async () => {
  const model = await trainedModel();

  const saved = await engine.driver.finish('save_weights_for_sampler', {
    model_id: model,
    seq_id: 3,
    sampling_session_seq_id: 8,
  });
  const drawn = await engine.driver.finish('asample', asample(saved.body.sampling_session_id));
  const folder = path.join(engine.dataFolder, 'ephemeral');

  expect(saved.body).toMatchObject({ path: null, sampling_session_id: `${session}:sample:8` });
  expect(drawn.body.sequences[0]?.tokens).toEqual([9, 9, 9, 9]);
  expect(readdirSync(folder)).toHaveLength(1);
  expect((await engine.driver.get('checkpoints')).body.checkpoints).toEqual([]);
  await engine.driver.post(`sessions/${session}/finish`, { reason: { type: 'success' }, detail: '' });
  expect((await engine.driver.post('asample', asample(saved.body.sampling_session_id))).status).toBe(404);
  const deadline = Date.now() + 2000;
  while (readdirSync(folder).length > 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(readdirSync(folder)).toEqual([]);
});

test('a few idle samplers are kept, the others given back', async () => {
  const model = await trainedModel();
  for (let number = 0; number < 7; number++) {
    const save = { model_id: model, seq_id: 3 + number, sampling_session_seq_id: number };
    const { body } = await engine.driver.finish('save_weights_for_sampler', save);
    await engine.driver.finish('asample', asample(body.sampling_session_id));
  }

  const count = engine.runtime.calls.filter((call) => call === 'dispose sampler').length;
  const again = await engine.driver.finish('asample', asample(`${session}:sample:0`, { seq_id: 1 }));

  expect(count).toBe(3);
  expect(again.body.sequences[0]?.tokens).toEqual([9, 9, 9, 9]);
});

test('no session is needed where weights are named in the request', async () => {
  const drawn = await engine.driver.finish('asample', asample(undefined, { base_model: BASE_MODEL }));

  expect(drawn.body.sequences).toHaveLength(2);
  expect((await engine.driver.post('asample', asample(undefined))).status).toBe(422);
  expect((await engine.driver.post('asample', asample(undefined, { base_model: 'nope' }))).status).toBe(400);
});

test('a resent request is drawn once, another body under its number is refused', async () => {
  const sampler = await openBase();

  const first = await engine.driver.post('asample', asample(sampler));
  const again = await engine.driver.post('asample', asample(sampler));
  const other = await engine.driver.post('asample', asample(sampler, { num_samples: 3 }));
  await engine.driver.retrieve(first.body.request_id);

  expect(again.body).toEqual(first.body);
  expect(other.status).toBe(400);
  expect(engine.runtime.calls).toEqual(['sample']);
});

test('a session number names one set of weights', async () => {
  await openBase(0);
  const model = await trainedModel();
  const saved = await engine.driver.finish('save_weights_for_sampler', {
    model_id: model,
    seq_id: 3,
    path: 'w',
  });
  const body = { session_id: session, sampling_session_seq_id: 0, model_path: saved.body.path };

  expect(await openBase(0)).toBe(`${session}:sample:0`);
  expect((await engine.driver.post('create_sampling_session', body)).status).toBe(400);
});

test.each([-1, 2 ** 31, Number.MAX_SAFE_INTEGER])('a session cannot have the number %d', async (sequence) => {
  const body = { session_id: session, sampling_session_seq_id: sequence, base_model: BASE_MODEL };

  expect(await engine.driver.post('create_sampling_session', body)).toMatchObject({
    status: 422,
    body: { detail: containing('sampling_session_seq_id') },
  });
});

test('sessions without a number never share one, also beside weights on their way to disk', async () => {
  const model = await engine.driver.createModel(session);
  await openBase(2 ** 31 - 2);
  const saving = await engine.driver.post('save_weights_for_sampler', {
    model_id: model,
    seq_id: 1,
    sampling_session_seq_id: 2 ** 31 - 1,
  });
  const body = { session_id: session, base_model: BASE_MODEL };

  const replies = [1, 2, 3].map(() => engine.driver.post('create_sampling_session', body));

  const ids = (await Promise.all(replies)).map((reply) => reply.body.sampling_session_id);
  const saved = await engine.driver.retrieve(saving.body.request_id);
  expect(new Set([...ids, saved.body.sampling_session_id]).size).toBe(4);
});

test('two saves at once under one number do not share it', async () => {
  const model = await engine.driver.createModel(session);
  const save = (sequence: number) =>
    engine.driver.post('save_weights_for_sampler', {
      model_id: model,
      seq_id: sequence,
      sampling_session_seq_id: 7,
    });

  const accepted = await Promise.all([save(1), save(2)]);
  const results = await Promise.all(accepted.map(({ body }) => engine.driver.retrieve(body.request_id)));

  expect(results.filter(({ body }) => body.sampling_session_id === `${session}:sample:7`)).toHaveLength(1);
  expect(results.filter(({ body }) => body.category === 'user')).toHaveLength(1);
});

test('a sample without max_tokens may fill the context', async () => {
  const sampler = await openBase();

  const drawn = await engine.driver.finish('asample', asample(sampler, { sampling_params: {} }));

  expect(drawn.body.sequences[0]?.tokens).toHaveLength(61);
});

test('more scores than there is memory for wait until others are done', async () => {
  engine.runtime.samplingGate.shut();
  const sampler = await openBase();
  const many = (seqId: number) => asample(sampler, { seq_id: seqId, topk_prompt_logprobs: 87_000 });
  const first = await engine.driver.post('asample', many(0));
  for (let seqId = 1; seqId < 64; seqId++) await engine.driver.post('asample', many(seqId));

  const refused = await engine.driver.post('asample', many(64));
  const small = await engine.driver.post('asample', asample(sampler, { seq_id: 65 }));
  engine.runtime.samplingGate.open();
  await engine.driver.retrieve(first.body.request_id);
  await engine.driver.retrieve(small.body.request_id);
  const later = await engine.driver.post('asample', many(64));

  expect(refused).toMatchObject({ status: 429, body: { detail: containing('again') } });
  expect([first.status, small.status, later.status]).toEqual([200, 200, 200]);
});

test('a cancelled request fails and says so', async () => {
  engine.runtime.samplingGate.shut();
  const sampler = await openBase();
  const { body } = await engine.driver.post('asample', asample(sampler));

  const cancelled = await engine.driver.post('cancel_future', { request_id: body.request_id });

  expect(cancelled.status).toBe(204);
  expect((await engine.driver.retrieve(body.request_id)).body).toEqual({
    error: 'The request was cancelled.',
    category: 'user',
  });
});

test.each([
  ['an empty prompt', { prompt: { chunks: [] } }, 'prompt is empty'],
  ['a token outside the vocabulary', { prompt: prompt(99) }, 'token 99'],
  ['a negative token', { prompt: prompt(-1) }, 'token -1'],
  ['a token that is no number', { prompt: prompt('a') }, 'not a token id'],
  ['a prompt beyond the context', { prompt: prompt(...Array.from({ length: 65 }, () => 1)) }, '65 tokens'],
  ['a negative temperature', { sampling_params: { temperature: -1 } }, 'temperature'],
  ['top_p of zero', { sampling_params: { top_p: 0 } }, 'top_p'],
  ['a negative number', { seq_id: -1 }, 'seq_id'],
  ['no tokens at all', { sampling_params: { max_tokens: 0 } }, 'max_tokens'],
  ['no samples', { num_samples: 0 }, 'num_samples'],
  ['a mixed stop', { sampling_params: { stop: ['a', 1] } }, 'stop'],
  ['a negative top-k of the prompt', { topk_prompt_logprobs: -1 }, 'topk_prompt_logprobs'],
  ['a negative top-k of what is drawn', { topk_sample_logprobs: -1 }, 'topk_sample_logprobs'],
  ['half an alternative', { prompt_alt_tokens_k: 0.5 }, 'prompt_alt_tokens_k'],
  ['a top-k without end', { topk_prompt_logprobs: 1e9 }, '3000000000 scores'],
  ['alternatives without end', { prompt_alt_tokens_k: 87_382 }, '262146 scores'],
  ['a top-k without end of what is drawn', { topk_sample_logprobs: 32_769 }, '262152 scores'],
  [
    'scores that are too many together',
    { topk_prompt_logprobs: 80_000, prompt_alt_tokens_k: 8000 },
    '264000',
  ],
  ['targets of another length', { target_prompt_logprobs: targets([1, 3], [1, 2, 3]) }, 'has 1 rows'],
  ['targets that are none', { target_prompt_logprobs: targets([2, 1], [-1, -1]) }, 'names no token'],
  ['a target outside the vocabulary', { target_prompt_logprobs: targets([2, 1], [16, 1]) }, 'token 16'],
  ['targets that are no table', { target_prompt_logprobs: targets([2], [1, 2]) }, 'rows and columns'],
  ['targets of a forged shape', { target_prompt_logprobs: targets([2, 5e8], [1, 2]) }, '2 values'],
  ['targets that are no ids', { target_prompt_logprobs: targets([2, 1], [1.5, 2]) }, 'not a token id'],
  [
    'targets that are floats',
    { target_prompt_logprobs: { ...targets([2, 1], [1, 2]), dtype: 'float32' } },
    'int64',
  ],
  [
    'sparse targets beyond their values',
    { target_prompt_logprobs: sparseTargets([0, 1, 9], [0, 0]) },
    'row pointers',
  ],
  [
    'sparse targets going backwards',
    { target_prompt_logprobs: sparseTargets([0, 3, 2], [0, 0]) },
    'row pointers',
  ],
  [
    'sparse targets beyond their columns',
    { target_prompt_logprobs: sparseTargets([0, 1, 2], [0, 3]) },
    'columns',
  ],
  [
    'sparse targets without columns',
    { target_prompt_logprobs: sparseTargets([0, 1, 2], null) },
    'not a list',
  ],
  ['more scores than the prompt has', { prompt_logprobs_last_n: 3 }, 'has scores for 2'],
  ['some scores of none', { prompt_logprobs_last_n: 1, prompt_logprobs: false }, 'needs prompt_logprobs'],
])('%s is refused', async (_, change, reason) => {
  const reply = await engine.driver.post('asample', asample(await openBase(), change));

  expect(reply).toMatchObject({ status: 422, body: { detail: containing(reason) } });
  expect(engine.runtime.calls).toEqual([]);
});
