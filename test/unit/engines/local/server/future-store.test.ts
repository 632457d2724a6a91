import { DomainError } from '../../../../../src/core/errors';
import { AcceptedRequests } from '../../../../../src/engines/local/server/accepted-requests';
import type { Datum } from '../../../../../src/core/datum';
import { finish } from '../../../../../src/core/concurrency/steps';
import { digestOf, digestOfData } from '../../../../../src/engines/local/server/body-digest';
import { FutureStore, jsonResult } from '../../../../../src/engines/local/server/future-store';

const HOUR_MS = 3_600_000;

async function filled(count: number, keepPerOwner?: number): Promise<FutureStore> {
  const futures = new FutureStore(keepPerOwner);
  for (let index = 0; index < count; index++) {
    futures.add(`request-${index}`, Promise.resolve(jsonResult(index)), { owner: 'model' });
    await futures.wait(`request-${index}`, 0);
  }
  return futures;
}

describe('results', () => {
  test('beyond the number kept for an owner go, oldest first', async () => {
    const futures = await filled(5, 3);

    expect([0, 1, 2, 3, 4].map((index) => futures.has(`request-${index}`))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('that are not there yet are never dropped', async () => {
    const futures = new FutureStore(2);
    futures.add('pending', new Promise(() => undefined), { owner: 'model' });
    for (const id of ['a', 'b', 'c']) {
      futures.add(id, Promise.resolve(jsonResult(id)), { owner: 'model' });
      await futures.wait(id, 0);
    }

    futures.dropExpired(performance.now() + 2 * HOUR_MS);

    expect(futures.has('pending')).toBe(true);
    expect(futures.has('a')).toBe(false);
  });

  test('stay for an hour, the latest ones of a living owner longer', async () => {
    const futures = await filled(1002);

    futures.dropExpired(performance.now() + HOUR_MS / 2);
    expect(futures.has('request-0')).toBe(true);
    futures.dropExpired(performance.now() + 2 * HOUR_MS);
    expect([futures.has('request-1'), futures.has('request-2')]).toEqual([false, true]);
    futures.retire('model');
    futures.dropExpired(performance.now() + 2 * HOUR_MS);
    expect(futures.has('request-1001')).toBe(false);
  });

  test.each([
    [
      new DomainError('request-failed', 'too long', { category: 'user' }),
      { error: 'too long', category: 'user' },
    ],
    [new Error('broken'), { error: 'broken', category: 'server' }],
    ['odd', { error: 'odd', category: 'server' }],
  ])('of failed work say whose fault it was: %s', async (error, failure) => {
    const futures = new FutureStore();
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- whatever is thrown must be answered
    futures.add('failed', Promise.reject(error), { owner: 'model' });

    expect(await futures.wait('failed', 100)).toEqual({ kind: 'failure', failure });
  });
});

describe('a digest', () => {
  test.each([
    ['key order', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['fields that are not there', { a: 1, b: undefined }, { a: 1 }],
    ['the buffer below', Float32Array.of(1, 2), new Float32Array([0, 1, 2]).subarray(1)],
  ])('does not depend on %s', (_, one, other) => {
    expect(digestOf(one)).toBe(digestOf(other));
  });

  test.each([
    ['values', { a: 1 }, { a: 2 }],
    ['types', { a: 1 }, { a: '1' }],
    ['null and not there', { a: null }, {}],
    ['nesting', [['a'], 'b'], [['a', 'b']]],
    ['where one list ends', { a: [1], b: [2] }, { a: [1, 2], b: [] }],
    ['tensor values', Float32Array.of(1), Float32Array.of(2)],
  ])('depends on %s', (_, one, other) => {
    expect(digestOf(one)).not.toBe(digestOf(other));
  });
});

describe('a digest of training data', () => {
  const ones = Float32Array.of(1, 1);
  const twos = Float32Array.of(2, 2);

  function datum(lossInputs: Datum['lossInputs'], tokens = [1, 2], targetTokens = [2, 3]): Datum {
    return { tokens: Int32Array.from(tokens), targetTokens: Int32Array.from(targetTokens), lossInputs };
  }

  test('does not depend on the order of the inputs’ names', () => {
    expect(finish(digestOfData([datum({ logprobs: ones, advantages: twos })]))).toBe(
      finish(digestOfData([datum({ advantages: twos, logprobs: ones })])),
    );
  });

  test.each([
    ['which input holds which values', [datum({ a: ones, b: twos })], [datum({ a: twos, b: ones })]],
    ['names', [datum({ a: ones })], [datum({ b: ones })]],
    ['tokens', [datum({})], [datum({}, [1, 3])]],
    ['where tokens end', [datum({}, [1, 2, 3], [4])], [datum({}, [1, 2], [3, 4])]],
    [
      'the order of the sequences',
      [datum({ a: ones }), datum({ a: twos })],
      [datum({ a: twos }), datum({ a: ones })],
    ],
    ['how often a sequence is there', [datum({})], [datum({}), datum({})]],
    ['the sign of zero', [datum({ a: Float32Array.of(0) })], [datum({ a: Float32Array.of(-0) })]],
  ])('depends on %s', (_, one, other) => {
    expect(finish(digestOfData(one))).not.toBe(finish(digestOfData(other)));
  });
});

test('a number used long ago counts as resent, so that it is never executed again', () => {
  const accepted = new AcceptedRequests();
  for (let sequence = 1; sequence <= 20_010; sequence++)
    accepted.add(sequence, `digest ${sequence}`, () => true);

  expect(accepted.isResend(5, 'any')).toBe(true);
  expect(accepted.isResend(20_010, 'digest 20010')).toBe(true);
  expect(accepted.isResend(20_011, 'new')).toBe(false);
  expect(() => accepted.isResend(20_000, 'other')).toThrow('already used');
});
