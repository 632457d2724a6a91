import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  encodeForwardBackwardRequest,
  decodeForwardBackwardOutput,
} from '../../../../../src/engines/tinker/codec';
import type { TestEngine } from './engine-driver';
import { ForwardBackwardRequestSchema } from '../../../../../src/engines/tinker/generated/tinker_pb';
import { anyOf, containing, forwardBackwardBody, startTestEngine } from './engine-driver';
import { BASE_MODEL } from './fake-runtime';

let engine: TestEngine;
let session: string;
let model: string;

beforeEach(async () => {
  engine = await startTestEngine({ longPollMs: 500 });
  session = await engine.driver.openSession();
  model = await engine.driver.createModel(session);
});

afterEach(async () => {
  await engine.close();
});

const protobuf = { 'content-type': 'application/x-protobuf' };
const acceptProtobuf = { accept: 'application/x-protobuf, application/json' };

function protobufRequest(
  sequence: number,
  { forwardOnly = false, lossFn = 'cross_entropy' } = {},
): Uint8Array {
  return encodeForwardBackwardRequest({
    modelId: model,
    seqId: sequence,
    data: [
      {
        tokens: Int32Array.of(1, 2),
        targetTokens: Int32Array.of(3, 3),
        lossInputs: { weights: Float32Array.of(1, 1) },
      },
    ],
    lossFn,
    lossFnConfig: {},
    forwardOnly,
  });
}

/** A message that reads, but whose tokens are no whole number of integers. */
function withTornTensor(bytes: Uint8Array): Uint8Array {
  const message = fromBinary(ForwardBackwardRequestSchema, bytes);
  const chunk = message.data[0]?.modelInput[0]?.chunk;
  if (chunk?.case === 'encodedText') chunk.value.tokens = chunk.value.tokens.subarray(0, 7);
  return toBinary(ForwardBackwardRequestSchema, message);
}

describe('models', () => {
  test.each(['forward_backward', 'forward'])(
    'data for a model that does not exist is not looked at: %s',
    async (route) => {
      const broken = { model_id: 'nope', seq_id: 1, forward_backward_input: { data: 'x' } };
      const replies = [
        await engine.driver.post(route, broken),
        await engine.driver.post(route, Uint8Array.from([10, 4, 110, 111, 112, 101, 26, 1, 255]), protobuf),
      ];

      for (const reply of replies) {
        expect(reply).toMatchObject({ status: 404, body: { detail: containing('Model "nope" not found') } });
      }
    },
  );

  test('are named after their session and number', () => {
    expect(model).toBe(`${session}:train:0`);
  });

  test('describe themselves, with a tokenizer that needs no hub', async () => {
    const { body } = await engine.driver.post('get_info', { model_id: model, type: 'get_info' });

    expect(body).toMatchObject({
      model_id: model,
      is_lora: true,
      lora_rank: 4,
      model_name: BASE_MODEL,
      model_data: { model_name: BASE_MODEL, tokenizer_id: '/models/unigram' },
    });
  });

  test.each([
    ['no lora_config', { lora_config: null }],
    ['rank 0', { lora_config: { rank: 0 } }],
  ])('with %s train all weights', async (_, extra) => {
    const full = await engine.driver.createModel(session, { model_seq_id: 1, ...extra });

    const { body } = await engine.driver.post('get_info', { model_id: full });

    expect(body).toMatchObject({ is_lora: false, lora_rank: null });
  });

  test('are created once however often the request is sent', async () => {
    const body = { session_id: session, model_seq_id: 7, base_model: BASE_MODEL, lora_config: { rank: 4 } };

    const first = await engine.driver.post('create_model', body);
    const second = await engine.driver.post('create_model', body);
    const other = await engine.driver.post('create_model', { ...body, lora_config: { rank: 8 } });

    expect(second.body).toEqual(first.body);
    expect(other.status).toBe(400);
  });

  test('of an unknown base are refused, naming the known ones', async () => {
    const reply = await engine.driver.post('create_model', { session_id: session, base_model: 'nope' });

    expect(reply).toMatchObject({
      status: 400,
      body: { detail: `Unknown base model "nope". Known: ${BASE_MODEL}.` },
    });
  });

  test('that cannot be created fail their promise and answer 404 afterwards', async () => {
    const body = { session_id: session, model_seq_id: 3, base_model: BASE_MODEL, lora_config: { rank: 13 } };

    const reply = await engine.driver.finish('create_model', body);

    expect(reply.body).toEqual({ error: 'out of luck', category: 'server' });
    expect((await engine.driver.train(`${session}:train:3`, 1, 1)).status).toBe(404);
  });

  test('answer 404 after they were unloaded, also to what waited behind a gap', async () => {
    const held = await engine.driver.train(model, 2, 1);

    const unloaded = await engine.driver.finish('unload_model', { model_id: model, type: 'unload_model' });

    expect(unloaded.body).toEqual({ model_id: model, type: 'unload_model' });
    expect((await engine.driver.retrieve(held.body.request_id)).body).toMatchObject({ category: 'user' });
    expect((await engine.driver.train(model, 1, 1)).status).toBe(404);
    expect((await engine.driver.post('get_info', { model_id: model })).status).toBe(404);
    expect(engine.runtime.calls).toEqual(['0:dispose']);
  });
});

describe('order', () => {
  test('is that of the numbers, whatever the order of arrival', async () => {
    const step = await engine.driver.step(model, 4);
    await engine.driver.train(model, 3, 3);
    await engine.driver.train(model, 2, 2);
    expect(engine.runtime.calls).toEqual([]);
    expect(await engine.driver.retrieve(step.body.request_id)).toMatchObject({
      status: 408,
      body: { queue_state_reason: `seq_id 1 of ${model} has not arrived yet` },
    });

    await engine.driver.train(model, 1, 1);
    await engine.driver.retrieve(step.body.request_id);

    expect(engine.runtime.calls).toEqual(['0:backward:1', '0:backward:2', '0:backward:3', '0:step']);
  });

  test('lets other models go on while one waits for a lower number', async () => {
    const other = await engine.driver.createModel(session, { model_seq_id: 1 });
    await engine.driver.train(model, 2, 2);

    const reply = await engine.driver.finish('forward_backward', forwardBackwardBody(other, 1, 5));

    expect(reply.body.metrics).toEqual({ 'loss:sum': anyOf(Number) });
  });

  test('puts requests without a number after all others', async () => {
    await engine.driver.train(model, 1, 1);
    const last = await engine.driver.train(model, undefined, 2);
    await engine.driver.retrieve(last.body.request_id);

    expect(engine.runtime.calls).toEqual(['0:backward:1', '0:backward:2']);
  });

  test('goes on after a request that failed', async () => {
    await engine.driver.train(model, 1, 99);

    const second = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 2, 2));

    expect(second.body).toHaveProperty(['metrics', 'loss:sum']);
  });

  test('is not held up by a number that was refused at the door', async () => {
    const refused = await engine.driver.post('forward_backward', { model_id: model, seq_id: 1 });
    const second = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 2, 2));
    const late = await engine.driver.train(model, 1, 1);

    expect(refused.status).toBe(422);
    expect(second.body).toHaveProperty(['metrics', 'loss:sum']);
    expect(late).toMatchObject({ status: 400, body: { detail: containing('passed over') } });
  });

  test('is not held up by a refused binary message either', async () => {
    const unknownLoss = await engine.driver.post(
      'forward_backward',
      protobufRequest(1, { lossFn: 'nope' }),
      protobuf,
    );
    const tornTensor = await engine.driver.post(
      'forward_backward',
      withTornTensor(protobufRequest(2)),
      protobuf,
    );
    const third = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 3, 2));

    expect([unknownLoss.status, tornTensor.status]).toEqual([422, 400]);
    expect(third.body).toHaveProperty(['metrics', 'loss:sum']);
  });

  test('leaves a refused number to the corrected request', async () => {
    await engine.driver.post('forward_backward', { model_id: model, seq_id: 1 });

    const corrected = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 1, 1));

    expect(corrected.body).toHaveProperty(['metrics', 'loss:sum']);
  });

  test('is that of arrival for a server profile without it', async () => {
    const arrival = await startTestEngine({ profile: { ordered: false, deduplicate: false } });
    const id = await arrival.driver.createModel(await arrival.driver.openSession());

    await arrival.driver.train(id, 2, 2);
    await arrival.driver.train(id, 1, 1);
    const again = await arrival.driver.train(id, 1, 1);
    await arrival.driver.retrieve(again.body.request_id);

    expect(arrival.runtime.calls).toEqual(['0:backward:2', '0:backward:1', '0:backward:1']);
    await arrival.close();
  });
});

describe('a number', () => {
  const routes = ['forward_backward', 'forward', 'optim_step', 'save_weights', 'save_weights_for_sampler'];

  test.each([0, -5, 2 ** 31])(
    'of loading into a model is not %d, and no other model is made',
    async (sequence) => {
      const saved = await engine.driver.finish('save_weights', { model_id: model, seq_id: 1, path: 'x' });
      const load = { session_id: session, model_id: model, seq_id: sequence, path: saved.body.path };

      const reply = await engine.driver.post('load_weights', load);

      expect(reply).toMatchObject({ status: 422, body: { detail: containing('seq_id') } });
      expect((await engine.driver.get('training_runs')).body.training_runs).toHaveLength(1);
    },
  );

  test.each(routes)('of %s is 1 to 2^31-1 or left out', async (route) => {
    for (const sequence of [0, -5, 1.5, 2 ** 31, '1']) {
      const body = { ...forwardBackwardBody(model, undefined, 1), seq_id: sequence, path: 'x' };
      const reply = await engine.driver.post(route, body);

      expect([sequence, reply.status, reply.body.detail]).toEqual([sequence, 422, containing('seq_id')]);
    }
    expect(engine.runtime.calls).toEqual([]);

    const absent = { ...forwardBackwardBody(model, undefined, 1), seq_id: null, path: 'x' };
    expect((await engine.driver.finish(route, absent)).body).not.toHaveProperty('error');
    const largest = { ...absent, seq_id: 2 ** 31 - 1, path: 'y' };
    expect((await engine.driver.post(route, largest)).status).toBe(200);
  });

  test('in protobuf is the same, with 0 for none', async () => {
    const negative = await engine.driver.post('forward_backward', protobufRequest(-5), protobuf);
    const none = await engine.driver.post('forward_backward', protobufRequest(0), protobuf);

    expect(negative).toMatchObject({ status: 422, body: { detail: containing('seq_id') } });
    expect(none.body.request_id).toBe(`${model}:request:1`);
  });

  test.each([-1, 2 ** 31, Number.MAX_SAFE_INTEGER])('of a model cannot be %d', async (sequence) => {
    const body = { session_id: session, base_model: BASE_MODEL, model_seq_id: sequence };

    expect(await engine.driver.post('create_model', body)).toMatchObject({
      status: 422,
      body: { detail: containing('model_seq_id') },
    });
  });

  test('of a model that was given none is one of its own, after the largest too', async () => {
    await engine.driver.createModel(session, { model_seq_id: 2 ** 31 - 1 });
    const body = { session_id: session, base_model: BASE_MODEL, lora_config: { rank: 4 } };

    const replies = [1, 2, 3].map(() => engine.driver.post('create_model', body));

    const ids = (await Promise.all(replies)).map((reply) => reply.body.model_id);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('a resent request', () => {
  test('gets the first one’s promise and is executed once', async () => {
    const first = await engine.driver.train(model, 1, 1);
    await engine.driver.retrieve(first.body.request_id);
    const second = await engine.driver.train(model, 1, 1);

    expect(second.body).toEqual(first.body);
    expect((await engine.driver.retrieve(second.body.request_id)).body).toHaveProperty([
      'metrics',
      'loss:sum',
    ]);
    expect(engine.runtime.calls).toEqual(['0:backward:1']);
  });

  test('is recognised across codecs', async () => {
    const binary = await engine.driver.post('forward_backward', protobufRequest(1), protobuf);
    const json = await engine.driver.train(model, 1, 3);

    expect(json.body).toEqual(binary.body);
  });

  test('is recognised where it is long and read a piece at a time', async () => {
    const numbers = Array.from({ length: 5000 }, (_, index) => index % 7);
    const datum = {
      model_input: { chunks: [{ type: 'encoded_text', tokens: numbers }] },
      loss_fn_inputs: {
        target_tokens: { data: numbers, dtype: 'int64', shape: [5000] },
        weights: { data: numbers, dtype: 'float32', shape: [5000] },
      },
    };
    const input = { data: Array(100).fill(datum), loss_fn: 'cross_entropy' };
    const long = { model_id: model, seq_id: 1, forward_backward_input: input };
    const tensors = {
      tokens: Int32Array.from(numbers),
      targetTokens: Int32Array.from(numbers),
      lossInputs: { weights: Float32Array.from(numbers) },
    };
    const binary = encodeForwardBackwardRequest({
      ...{ modelId: model, seqId: 1, lossFn: 'cross_entropy', lossFnConfig: {}, forwardOnly: false },
      data: Array(100).fill(tensors),
    });

    const { driver } = engine;
    const replies = await Promise.all([
      driver.post('forward_backward', long),
      driver.post('forward_backward', JSON.stringify(long, null, 1)),
      driver.post('forward_backward', binary, protobuf),
    ]);
    const other = await driver.post('forward_backward', {
      ...long,
      forward_backward_input: { ...input, data: [datum] },
    });

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(replies.map(({ body }) => body.request_id)).size).toBe(1);
    expect(other).toMatchObject({ status: 400, body: { detail: containing('already used') } });
  });

  test('is refused for good when its body differs', async () => {
    await engine.driver.train(model, 1, 1);

    const other = await engine.driver.train(model, 1, 2);
    const otherKind = await engine.driver.step(model, 1);

    expect(other).toMatchObject({ status: 400, body: { detail: containing('seq_id 1') } });
    expect(otherKind.status).toBe(400);
  });
});

describe('forward and backward', () => {
  test('learn, and count what they did', async () => {
    const losses: number[] = [];
    for (let step = 0; step < 5; step++) {
      await engine.driver.train(model, 2 * step + 1, 3).then(async ({ body }) => {
        losses.push((await engine.driver.retrieve(body.request_id)).body.metrics['loss:sum'] ?? Number.NaN);
      });
      await engine.driver.step(model, 2 * step + 2, 0.5);
    }
    await engine.driver.finish('forward_backward', forwardBackwardBody(model, 11, 3));

    expect(losses).toEqual([...losses].sort((one, other) => other - one));
    const metrics = (await engine.driver.get('/metrics')).bytes.toString();
    expect(metrics).toMatch(/^everstep_engine_steps_applied_total 5$/m);
    expect(metrics).toMatch(/^everstep_engine_tokens_trained_total 12$/m);
    for (const kind of ['training', 'sampling', 'scoring'])
      expect(metrics).toMatch(new RegExp(`^everstep_engine_busy_seconds_total\\{kind="${kind}"\\} \\d`, 'm'));
    expect(metrics).toMatch(/^everstep_engine_requests_total \d+$/m);
  });

  test('answer in protobuf to those who ask for it first, in JSON to others', async () => {
    const { body } = await engine.driver.post('forward_backward', protobufRequest(1), protobuf);

    const binary = await engine.driver.retrieve(body.request_id, acceptProtobuf);
    const json = await engine.driver.retrieve(body.request_id, { accept: 'application/json' });

    expect(binary.contentType).toBe('application/x-protobuf');
    const decoded = decodeForwardBackwardOutput(binary.bytes);
    expect(json.body.metrics).toEqual(decoded.metrics);
    expect(json.body.loss_fn_outputs[0]?.logprobs.data).toEqual([...(decoded.logprobs[0] ?? [])]);
  });

  test('leave gradients alone when only the forward pass is asked for', async () => {
    await engine.driver.post('forward_backward', protobufRequest(1, { forwardOnly: true }), protobuf);
    const { forward_backward_input: input, ...rest } = forwardBackwardBody(model, 2, 3) as Record<
      string,
      unknown
    >;
    await engine.driver.finish('forward', { ...rest, forward_input: input });

    expect(engine.runtime.calls).toEqual(['0:forward:3', '0:forward:3']);
    const metrics = (await engine.driver.get('/metrics')).bytes.toString();
    expect(metrics).toMatch(/^everstep_engine_tokens_trained_total 0$/m);
  });

  test('fail their promise, not the request, on data the model cannot take', async () => {
    const body = forwardBackwardBody(model, 1, 1);
    const long: unknown = JSON.parse(
      JSON.stringify(body).replace(
        '"data":[1,1],"dtype":"int64","shape":[2]',
        '"data":[1,1,1],"dtype":"int64","shape":[3]',
      ),
    );

    const reply = await engine.driver.finish('forward_backward', long);

    expect(reply).toMatchObject({
      status: 200,
      body: { category: 'user', error: containing('length 3') },
    });
    expect(engine.runtime.calls).toEqual([]);
  });

  test.each([
    ['an unknown loss', { loss_fn: 'nope' }, 'Unknown loss_fn "nope"'],
    ['a loss named like a method', { loss_fn: 'toString' }, 'Unknown loss_fn'],
    ['an unknown key of a loss', { loss_fn_config: { beta: 1 } }, 'Unknown loss_fn_config key "beta"'],
    ['no data', { data: [] }, 'data is empty'],
    [
      'an image',
      { data: [{ model_input: { chunks: [{ type: 'image' }] }, loss_fn_inputs: {} }] },
      'only text tokens',
    ],
  ])('refuse %s', async (_, change, reason) => {
    const body = forwardBackwardBody(model, 1, 1) as { forward_backward_input: object };

    const reply = await engine.driver.post('forward_backward', {
      ...body,
      forward_backward_input: { ...body.forward_backward_input, ...change },
    });

    expect(reply).toMatchObject({ status: 422, body: { detail: containing(reason) } });
  });

  test('refuse bytes that are no message', async () => {
    const reply = await engine.driver.post('forward_backward', Buffer.from('not a message'), protobuf);

    expect(reply.status).toBe(400);
  });
});

describe('an optimizer step', () => {
  test.each([
    [{ learning_rate: -1 }],
    [{ learning_rate: 'fast' }],
    [{ learning_rate: 0.1, beta1: 1 }],
    [{ learning_rate: 0.1, grad_clip_norm: -1 }],
    [{ learning_rate: 1e300 }],
    [{ learning_rate: 3.5e38 }],
    [{ beta1: 1 - 1e-12 }],
    [{ beta2: 1 - 1e-12 }],
    [{ eps: 0 }],
    [{ eps: 1e-60 }],
    [{ eps: 1e300 }],
    [{ weight_decay: 1e300 }],
    [{ grad_clip_norm: 1e300 }],
  ])('with %j is refused and changes nothing', async (adam) => {
    const reply = await engine.driver.post('optim_step', { model_id: model, seq_id: 1, adam_params: adam });

    expect(reply.status).toBe(422);
    expect(engine.runtime.calls).toEqual([]);
  });

  test('of another family is refused', async () => {
    const reply = await engine.driver.post('optim_step', {
      model_id: model,
      seq_id: 1,
      optimizer_params: { type: 'dimuon' },
    });

    expect(reply).toMatchObject({ status: 422, body: { detail: containing('adam_params') } });
  });
});
