import { request } from 'node:http';
import { connect } from 'node:net';
import type { TestEngine } from './engine-driver';
import { anyOf, containing, forwardBackwardBody, startTestEngine } from './engine-driver';
import { BASE_MODEL } from './fake-runtime';

let engine: TestEngine;

beforeEach(async () => {
  engine = await startTestEngine();
});

afterEach(async () => {
  await engine.close();
});

describe('bootstrap', () => {
  test('tells official clients how to speak', async () => {
    const config = await engine.driver.post('client/config', { sdk_version: '0.38.0' });
    const dynamic = await engine.driver.post('client/dynamic_config', { sdk_version: '0.38.0' });
    const capabilities = await engine.driver.get('get_server_capabilities');

    expect(config.body).toMatchObject({ pjwt_auth_enabled: false, proto_compress_fwdbwd: false });
    expect(dynamic.body).toMatchObject({ refresh_interval_sec: 300, sample_cancel_enabled: true });
    expect(capabilities.body).toEqual({
      supported_models: [
        { model_name: BASE_MODEL, max_context_length: 64, trainable: true, sampleable: true },
      ],
    });
    expect((await engine.driver.get('healthz')).body).toEqual({ status: 'ok' });
    expect((await engine.driver.post('telemetry', { events: [] })).body).toEqual({ status: 'accepted' });
  });
});

describe('a session', () => {
  /** Of an engine that looks after its sessions many times a second; it moves only where a test moves it. */
  class HeldClock {
    time = 0;
    passed = 0;
    private asked: () => void = () => undefined;

    readonly now = (): number => {
      this.asked();
      return this.time;
    };
    readonly elapsed = (): number => {
      this.asked();
      return this.passed;
    };

    /** When sessions were looked after at what the clock says now. */
    untilLookedAfter(): Promise<void> {
      return new Promise((resolve) => {
        this.asked = resolve;
      });
    }
  }

  test('ends without heartbeats, and its models with it', async () => {
    const clock = new HeldClock();
    const hasty = await startTestEngine({ sessionTimeoutMs: 40, now: clock.now, elapsed: clock.elapsed });
    const session = await hasty.driver.openSession();
    const model = await hasty.driver.createModel(session);
    const held = await hasty.driver.train(model, 2, 1);

    clock.passed += 41;
    await clock.untilLookedAfter();

    expect((await hasty.driver.retrieve(held.body.request_id)).body).toMatchObject({ category: 'user' });
    expect((await hasty.driver.post('session_heartbeat', { session_id: session })).status).toBe(410);
    expect(await hasty.driver.train(model, 1, 1)).toMatchObject({
      status: 404,
      body: { detail: containing('no heartbeat') },
    });
    expect(
      (await hasty.driver.post('create_model', { session_id: session, base_model: BASE_MODEL })).status,
    ).toBe(410);
    expect(hasty.runtime.calls).toEqual(['0:dispose']);
    await hasty.close();
  });

  test('lives as long as heartbeats come', async () => {
    const clock = new HeldClock();
    const hasty = await startTestEngine({ sessionTimeoutMs: 40, now: clock.now, elapsed: clock.elapsed });
    const session = await hasty.driver.openSession();
    const model = await hasty.driver.createModel(session);

    for (let beat = 0; beat < 3; beat++) {
      clock.passed += 30;
      await clock.untilLookedAfter();
      expect((await hasty.driver.post('session_heartbeat', { session_id: session })).status).toBe(200);
    }

    expect((await hasty.driver.train(model, 1, 1)).status).toBe(200);
    await hasty.close();
  });

  test('is not ended by a clock of the system that jumps', async () => {
    const clock = new HeldClock();
    const hasty = await startTestEngine({ sessionTimeoutMs: 40, now: clock.now, elapsed: clock.elapsed });
    const session = await hasty.driver.openSession();

    clock.time += 7 * 24 * 3_600_000;
    await clock.untilLookedAfter();

    expect((await hasty.driver.post('session_heartbeat', { session_id: session })).status).toBe(200);
    await hasty.close();
  });

  test('can be finished, more than once', async () => {
    const session = await engine.driver.openSession();
    const model = await engine.driver.createModel(session);

    const finish = () =>
      engine.driver.post(`sessions/${session}/finish`, { reason: { type: 'success' }, detail: 'done' });

    expect((await finish()).status).toBe(204);
    expect((await finish()).status).toBe(204);
    expect((await engine.driver.train(model, 1, 1)).status).toBe(404);
    expect((await engine.driver.post('sessions/nope/finish', {})).status).toBe(404);
  });

  test('that was never opened is unknown', async () => {
    expect((await engine.driver.post('session_heartbeat', { session_id: 'nope' })).status).toBe(404);
    expect(
      (await engine.driver.post('create_model', { session_id: 'nope', base_model: BASE_MODEL })).status,
    ).toBe(404);
  });
});

describe('a promise', () => {
  test('is waited for politely, then asked for again', async () => {
    const short = await startTestEngine({ longPollMs: 150 });
    const model = await short.driver.createModel(await short.driver.openSession());
    short.runtime.trainingGate.shut();
    const { body } = await short.driver.train(model, 1, 1);

    const started = performance.now();
    const pending = await short.driver.retrieve(body.request_id);

    expect(performance.now() - started).toBeGreaterThan(140);
    expect(pending).toMatchObject({
      status: 408,
      body: { type: 'try_again', request_id: body.request_id, queue_state: 'active' },
    });
    short.runtime.trainingGate.open();
    expect((await short.driver.retrieve(body.request_id)).body).toHaveProperty(['metrics', 'loss:sum']);
    await short.close();
  });

  test('answers as soon as its work is done', async () => {
    const patient = await startTestEngine({ longPollMs: 24 * 3_600_000 });
    const model = await patient.driver.createModel(await patient.driver.openSession());
    patient.runtime.trainingGate.shut();
    const { body } = await patient.driver.train(model, 1, 1);
    const waiting = [patient.driver.retrieve(body.request_id), patient.driver.retrieve(body.request_id)];
    setTimeout(() => {
      patient.runtime.trainingGate.open();
    }, 50);

    const replies = await Promise.all(waiting);
    await patient.close();

    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('that nobody knows is gone', async () => {
    expect((await engine.driver.retrieve('nope')).status).toBe(410);
  });

  test('that nobody knows cannot be cancelled either', async () => {
    expect(await engine.driver.post('cancel_future', { request_id: 'nope' })).toMatchObject({
      status: 410,
      body: { detail: containing('"nope" is not known') },
    });
  });

  test('of training cannot be cancelled', async () => {
    const model = await engine.driver.createModel(await engine.driver.openSession());
    engine.runtime.trainingGate.shut();
    const { body } = await engine.driver.train(model, 1, 1);

    expect((await engine.driver.post('cancel_future', { request_id: body.request_id })).status).toBe(400);
    engine.runtime.trainingGate.open();
    expect((await engine.driver.retrieve(body.request_id)).body).toHaveProperty(['metrics', 'loss:sum']);
    expect((await engine.driver.post('cancel_future', { request_id: body.request_id })).status).toBe(204);
  });
});

test('closing an engine at work cancels what is being drawn and lets saves finish', async () => {
  const session = await engine.driver.openSession();
  const model = await engine.driver.createModel(session);
  engine.runtime.samplingGate.shut();
  const sample = {
    base_model: BASE_MODEL,
    prompt: { chunks: [{ tokens: [1] }] },
    sampling_params: { max_tokens: 3 },
  };
  await engine.driver.post('asample', sample);
  await engine.driver.post('save_weights', { model_id: model, seq_id: 1, path: 'last' });
  const { calls } = engine.runtime;

  await engine.restart();

  expect(calls.sort()).toEqual(['0:dispose', 'dispose sampler', 'sample']);
  expect((await engine.driver.get('checkpoints')).body.checkpoints).toHaveLength(1);
});

describe('a bad request', () => {
  test('that is no JSON is answered 400', async () => {
    expect(await engine.driver.post('create_session', '{"tags": [')).toMatchObject({
      status: 400,
      body: { detail: anyOf(String) },
    });
  });

  test.each([
    'create_model',
    'forward_backward',
    'optim_step',
    'save_weights',
    'asample',
    'retrieve_future',
    'get_info',
    'load_weights',
  ])('to %s is answered 422 with a reason, whatever it is', async (route) => {
    for (const body of ['[]', '7', 'null', '"x"', '{}', '{"model_id": 5, "seq_id": "x"}']) {
      const reply = await engine.driver.post(route, body);

      expect(reply.status).toBe(422);
      expect(reply.body.detail.length).toBeGreaterThan(10);
    }
  });

  test.each([
    ['a list', (depth: number) => '['.repeat(depth) + ']'.repeat(depth)],
    ['an object', (depth: number) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)],
  ])('that is %s nested without end is answered 422, and its number holds nobody back', async (_, nest) => {
    const sessionId = await engine.driver.openSession();
    const model = await engine.driver.createModel(sessionId);
    const nested = `{"deep":${nest(100_000)}}`;
    const named = `"model_id":"${model}","seq_id":1`;
    const requests = {
      create_session: `{"user_metadata":${nested}}`,
      create_model: `{"session_id":"${sessionId}","base_model":"${BASE_MODEL}","user_metadata":${nested}}`,
      save_weights: `{${named},"path":"deep","user_metadata":${nested}}`,
      forward_backward: `{${named},"forward_backward_input":${nested}}`,
      optim_step: `{${named},"adam_params":${nested}}`,
      asample: `{"base_model":"${BASE_MODEL}","prompt":${nested}}`,
      retrieve_future: nested,
    };
    for (const [route, body] of Object.entries(requests)) {
      const reply = await engine.driver.post(route, body);

      expect([route, reply.status, reply.body.detail]).toEqual([route, 422, containing('64 deep')]);
    }

    const good = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 2, 1));

    expect(good.body).toHaveProperty(['metrics', 'loss:sum']);
    expect(engine.runtime.calls).toEqual(['0:backward:1']);
  });

  test('with metadata nested as people do is taken', async () => {
    const metadata: unknown = JSON.parse('{"a":'.repeat(50) + '1' + '}'.repeat(50));

    const model = await engine.driver.createModel(await engine.driver.openSession(), {
      user_metadata: metadata,
    });

    expect((await engine.driver.train(model, 1, 1)).status).toBe(200);
  });

  test.each(['create_session', 'create_model', 'optim_step', 'asample', 'retrieve_future', 'save_weights'])(
    'in protobuf to %s, which has no binary form, is answered 415',
    async (route) => {
      const reply = await engine.driver.post(route, Buffer.from('not a message'), {
        'content-type': 'application/x-protobuf',
      });

      expect(reply).toMatchObject({ status: 415, body: { detail: containing('Media Type') } });
    },
  );

  test('whose binary form is nested without end is answered 400', async () => {
    const reply = await engine.driver.post('forward_backward', Buffer.alloc(200_000, 0x0b), {
      'content-type': 'application/x-protobuf',
    });

    expect(reply).toMatchObject({ status: 400, body: { detail: anyOf(String) } });
  });

  test.each([
    ['cannot be decoded', 'samplers/%ZZ', 400],
    ['has a part that is too long', `samplers/${'x'.repeat(600)}`, 414],
  ])('whose address %s is answered in the form of all others', async (_, route, status) => {
    const reply = await engine.driver.get(route);

    expect(reply).toMatchObject({ status, body: { detail: anyOf(String) } });
  });

  test.each([
    ['is no HTTP', 'what is this\r\n\r\n', '400'],
    ['has too many headers', `GET / HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, '431'],
  ])('that %s is answered in the form of all others', async (_, sent, status) => {
    const { hostname, port } = new URL(engine.driver.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const parts: Buffer[] = [];
      const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(sent));
      socket.on('data', (part) => parts.push(part));
      socket.on('end', () => {
        socket.destroy();
        resolve(Buffer.concat(parts).toString());
      });
      socket.on('error', reject);
    });

    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({ detail: anyOf(String) });
  });

  test('to nowhere is answered 404', async () => {
    expect(await engine.driver.get('nope')).toMatchObject({
      status: 404,
      body: { detail: 'Not Found: GET /api/v1/nope' },
    });
  });

  test('of a foreign or packed content type is answered 415', async () => {
    expect((await engine.driver.post('create_session', '{}', { 'content-type': 'text/plain' })).status).toBe(
      415,
    );
    expect((await engine.driver.post('create_session', '{}', { 'content-encoding': 'zstd' })).status).toBe(
      415,
    );
  });

  test('beyond 64 MiB is answered 413 before it is read', async () => {
    const { hostname, port } = new URL(engine.driver.url);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request({
        hostname,
        port,
        path: '/api/v1/forward_backward',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': 65 * 1024 * 1024 },
      });
      sent.on('response', (response) => {
        resolve(response.statusCode);
        sent.destroy();
      });
      sent.on('error', reject);
      sent.write('{');
    });

    expect(status).toBe(413);
  });

  test('to a model changes nothing: the next request finds it as it was', async () => {
    const model = await engine.driver.createModel(await engine.driver.openSession());
    const bodies = [
      { model_id: model, seq_id: 1, forward_backward_input: { data: [{}], loss_fn: 'cross_entropy' } },
      { model_id: model, seq_id: 1, forward_backward_input: null },
      { model_id: model, seq_id: -1 },
      { model_id: model, seq_id: 1.5 },
    ];
    for (const body of bodies) {
      const { status } = await engine.driver.post('forward_backward', body);
      expect([400, 422]).toContain(status);
    }

    const good = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 1, 1));

    expect(good.body.metrics['loss:sum'] ?? Number.NaN).toBeCloseTo(2 * Math.log(16), 5);
    expect(engine.runtime.calls).toEqual(['0:backward:1']);
  });
});
