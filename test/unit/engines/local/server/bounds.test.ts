import { AcceptedRequests } from '../../../../../src/engines/local/server/accepted-requests';
import { DrawTurns } from '../../../../../src/engines/local/server/draw-turns';
import { FutureStore } from '../../../../../src/engines/local/server/future-store';
import { KeptBytes } from '../../../../../src/engines/local/server/kept-bytes';
import { MetadataBudget } from '../../../../../src/engines/local/server/metadata-budget';
import { OrderedQueue } from '../../../../../src/engines/local/server/ordered-queue';
import { PendingWork } from '../../../../../src/engines/local/server/pending-work';
import { ProtocolError } from '../../../../../src/engines/local/server/protocol-error';
import { SessionRegistry } from '../../../../../src/engines/local/server/session-registry';
import type { TestEngine } from './engine-driver';
import { containing, startTestEngine } from './engine-driver';
import { BASE_MODEL } from './fake-runtime';

/** What one client can make the engine hold, and what of it others notice. */

const MEBIBYTE = 2 ** 20;
/** Within the characters that metadata may have, and ten times as much in memory. */
const LISTS = Array.from({ length: 80_000 }, () => []);
const MODEL = { session_id: 'x', model_seq_id: 0, base_model: BASE_MODEL };
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('turns of those who draw', () => {
  interface Drawn {
    readonly order: string[];
    readonly finish: (() => void)[];
    ask(owner: string, sequenceCount?: number, signal?: AbortSignal): Promise<string>;
  }

  function drawing(turns: DrawTurns): Drawn {
    const order: string[] = [];
    const finish: (() => void)[] = [];
    return {
      order,
      finish,
      ask: (owner, sequenceCount = 1, signal = new AbortController().signal) =>
        turns.take({ owner, sequenceCount, signal }, () => {
          order.push(owner);
          return new Promise((resolve) => {
            finish.push(() => {
              resolve(owner);
            });
          });
        }),
    };
  }

  test('one who asks for much does not stand in front of the others', async () => {
    const drawn = drawing(new DrawTurns({ sequences: 3, waiting: 100 }));
    const asked = ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c', 'c'].map((owner) => drawn.ask(owner));
    await settle();
    expect(drawn.order.join('')).toBe('aaabc');

    while (drawn.finish.length > 0) {
      drawn.finish.shift()?.();
      await settle();
    }
    expect(drawn.order.join('')).toBe('aaabcacaa');
    expect(await Promise.all(asked)).toHaveLength(9);
  });

  test('a draw that is larger than all turns together gets one', async () => {
    const drawn = drawing(new DrawTurns({ sequences: 3, waiting: 100 }));
    const asked = drawn.ask('a', 1000);
    await settle();
    drawn.finish[0]?.();

    expect(await asked).toBe('a');
  });

  test('a cancelled one leaves at once, and takes nobody a turn', async () => {
    const drawn = drawing(new DrawTurns({ sequences: 1, waiting: 100 }));
    const controller = new AbortController();
    const first = drawn.ask('a');
    const cancelled = drawn.ask('a', 1, controller.signal);
    const last = drawn.ask('a');
    controller.abort(new Error('cancelled'));

    await expect(cancelled).rejects.toThrow('cancelled');
    expect(drawn.order).toEqual(['a']);
    drawn.finish[0]?.();
    await first;
    await settle();
    drawn.finish[1]?.();
    expect(await last).toBe('a');
  });

  test('too many waiting requests are refused to their owner alone', async () => {
    const turns = new DrawTurns({ sequences: 1, waiting: 2 });
    const drawn = drawing(turns);
    void ['a', 'a', 'a'].map((owner) => drawn.ask(owner));
    await settle();

    expect(() => {
      turns.requireRoom('a');
    }).toThrow(/2 sampling requests of a are waiting/);
    expect(() => {
      turns.requireRoom('b');
    }).not.toThrow();
  });
});

describe('kept results', () => {
  const result = (bytes: number) => Promise.resolve({ bytes, json: () => bytes });

  test('beyond their bytes the one who holds most loses the oldest', async () => {
    const futures = new FutureStore(100, 1000);
    for (let index = 0; index < 20; index++) futures.add(`flood:${index}`, result(100), { owner: 'flood' });
    futures.add('good:0', result(150), { owner: 'good' });
    futures.add('good:1', result(150), { owner: 'good' });
    await settle();

    expect([futures.has('good:0'), futures.has('good:1')]).toEqual([true, true]);
    expect(futures.has('flood:0')).toBe(false);
    expect(futures.has('flood:19')).toBe(true);
    expect(
      Array.from({ length: 20 }, (_, index) => futures.has(`flood:${index}`)).filter(Boolean),
    ).toHaveLength(7);
  });

  test('the only result of an owner stays, however large', () => {
    const kept = new KeptBytes(10);
    kept.add('a', 'a:1', 100);
    expect(kept.surplus()).toBeNull();
    kept.add('a', 'a:2', 1);
    expect(kept.surplus()).toMatchObject({ owner: 'a', requestId: 'a:1' });
    kept.delete('a', 'a:1');
    expect(kept.surplus()).toBeNull();
  });

  test('every one who waits for a result is answered, and in time where there is none', async () => {
    const futures = new FutureStore();
    let finish: (value: { json: () => number }) => void = () => undefined;
    futures.add('a', new Promise((resolve) => (finish = resolve)), { owner: 'a' });
    expect(await futures.wait('a', 1)).toBeNull();
    const waiting = [futures.wait('a', 10_000), futures.wait('a', 10_000)];
    finish({ json: () => 1 });

    for (const outcome of await Promise.all(waiting)) expect(outcome).toMatchObject({ kind: 'result' });
  });
});

describe('requests to a model', () => {
  const never = new Promise<never>(() => undefined);

  test('beyond what may wait are put off, but never the one that the others wait for', () => {
    const queue = new OrderedQueue(true);
    const pending = new PendingWork();
    for (const sequence of [2, 3]) {
      pending.requireRoom(queue, sequence, 100 * MEBIBYTE);
      pending.hold(100 * MEBIBYTE, never);
      void queue.submit(sequence, () => never);
    }

    expect(() => {
      pending.requireRoom(queue, 4, 100 * MEBIBYTE);
    }).toThrow(/2 requests of 200 MiB to this model are waiting/);
    expect(() => {
      pending.requireRoom(queue, 1, 100 * MEBIBYTE);
    }).not.toThrow();
  });

  test('a number far beyond the others does not make them look like resends', () => {
    const accepted = new AcceptedRequests();
    const hasPassed = (sequence: number): boolean => sequence < 30_000;
    accepted.add(2 ** 31 - 1, 'far', hasPassed);
    for (let sequence = 1; sequence <= 25_000; sequence++) accepted.add(sequence, `${sequence}`, hasPassed);

    expect(accepted.isResend(25_001, 'new')).toBe(false);
    expect(accepted.isResend(2 ** 31 - 1, 'far')).toBe(true);
    expect(accepted.isResend(1, 'any')).toBe(true);
  });

  test('refused numbers are remembered within bounds', async () => {
    const queue = new OrderedQueue(true);
    for (let sequence = 20_001; sequence > 1; sequence--) queue.refuse(sequence);
    const ran = queue.submit(1, async () => 'first');
    const held = queue.submit(10_001, async () => 'behind what is not remembered');

    expect(await ran).toBe('first');
    expect(await Promise.race([held, settle()])).toBeUndefined();
    expect(queue.missingBefore(10_001)).toBe(2);
  });
});

test('sessions beyond measure are put off, and ended ones forgotten in time', () => {
  const sessions = new SessionRegistry(1000, () => undefined);
  const ids = Array.from({ length: 10_000 }, () => sessions.open(0, null));
  expect(() => sessions.open(0, null)).toThrow(/10000 sessions are open/);

  sessions.expire(2000);
  const later = Array.from({ length: 10_000 }, () => sessions.open(3000, null));
  sessions.expire(9000);

  expect(() => sessions.require(ids[0] ?? '')).toThrow(/not found/);
  expect(() => sessions.require(later[0] ?? '')).toThrow(/has ended/);
});

test('what is said of open sessions is bounded all together, and makes room when they end', () => {
  const sessions = new SessionRegistry(1000, () => undefined, new MetadataBudget(25));
  const [first] = [sessions.open(0, { note: 'twelve' }), sessions.open(0, null)];
  expect(() => sessions.open(0, { note: 'twelve' })).toThrow(/comes to 17 characters, and 25 are kept/);

  sessions.finish(first, 'success');

  expect(() => sessions.open(0, { note: 'twelve' })).not.toThrow();
});

describe('over the wire', () => {
  let engine: TestEngine;

  beforeEach(async () => {
    engine = await startTestEngine();
  });

  afterEach(async () => {
    await engine.close();
  });

  test('a training request that is put off keeps its place: the next one waits for it', async () => {
    const model = await engine.driver.createModel(await engine.driver.openSession());
    const full = jest.spyOn(PendingWork.prototype, 'requireRoom').mockImplementationOnce(() => {
      throw new ProtocolError(429, 'Too much is waiting.');
    });

    expect((await engine.driver.train(model, 1, 1)).status).toBe(429);
    const behind = await engine.driver.train(model, 2, 2);
    expect((await engine.driver.train(model, 1, 1)).status).toBe(200);

    expect((await engine.driver.retrieve(behind.body.request_id)).body).toHaveProperty('metrics');
    expect(engine.runtime.calls).toEqual(['0:backward:1', '0:backward:2']);
    full.mockRestore();
  });

  test.each([
    ['metadata', 'create_session', { user_metadata: { a: 'x'.repeat(300_000) } }, 422, 'is longer than'],
    ['lists in metadata', 'create_session', { user_metadata: { a: LISTS } }, 422, 'more than 2000 lists'],
    ['lists about a model', 'create_model', { ...MODEL, user_metadata: { a: LISTS } }, 422, 'more than 2000'],
    ['a body', 'create_session', { user_metadata: { a: 'x'.repeat(5 * MEBIBYTE) } }, 413, 'too large'],
  ])('%s beyond measure is refused', async (_, route, body, status, reason) => {
    expect(await engine.driver.post(route, body)).toMatchObject({
      status,
      body: { detail: containing(reason) },
    });
  });
});
