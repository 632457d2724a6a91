import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { anySignal } from '../../../../src/core/concurrency/any-signal';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Whether the signal is aborted within a time that is many times its limit, while garbage is collected again and again. */
async function endsAmongGarbage(signal: AbortSignal): Promise<boolean> {
  for (let looks = 0; looks < 200 && !signal.aborted; looks++) {
    collectGarbage();
    await setTimeout(20);
  }
  return signal.aborted;
}

test('a time limit that nobody else holds ends what it is joined into', async () => {
  const outside = new AbortController();

  expect(await endsAmongGarbage(anySignal([outside.signal, AbortSignal.timeout(200)]))).toBe(true);
});

test('so does one in a joined signal that is joined again', async () => {
  const [outer, inner] = [new AbortController(), new AbortController()];
  const joined = anySignal([outer.signal, anySignal([inner.signal, AbortSignal.timeout(200)])]);

  expect(await endsAmongGarbage(joined)).toBe(true);
});

test('any of them ends it, with its reason', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const joined = anySignal([one.signal, other.signal]);

  other.abort(new Error('enough'));

  expect(joined.aborted).toBe(true);
  expect(joined.reason).toEqual(new Error('enough'));
});
