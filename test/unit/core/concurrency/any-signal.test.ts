import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { anySignal } from '../../../../src/core/concurrency/any-signal';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** While garbage is collected again and again. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    collectGarbage();
    await setImmediate();
  }
}

test('a time limit that nobody else holds ends what it is joined into', async () => {
  const outside = new AbortController();

  const joined = anySignal([outside.signal, AbortSignal.timeout(200)]);
  await untilAborted(joined);

  expect(joined.reason).toMatchObject({ name: 'TimeoutError' });
});

test('so does one in a joined signal that is joined again', async () => {
  const [outer, inner] = [new AbortController(), new AbortController()];
  const joined = anySignal([outer.signal, anySignal([inner.signal, AbortSignal.timeout(200)])]);

  await untilAborted(joined);

  expect(joined.reason).toMatchObject({ name: 'TimeoutError' });
});

test('any of them ends it, with its reason', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const joined = anySignal([one.signal, other.signal]);

  other.abort(new Error('enough'));

  expect(joined.aborted).toBe(true);
  expect(joined.reason).toEqual(new Error('enough'));
});
