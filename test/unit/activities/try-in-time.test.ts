import { tryInTime } from '../../../src/activities/try-in-time';
import { DomainError } from '../../../src/core/errors';

const away = new DomainError('unreachable', 'the hub is away', { retryable: true });

test('a hub that is there at the third try is used', async () => {
  const tries = [away, away, null];

  const found = await tryInTime(() => {
    const problem = tries.shift();
    return problem ? Promise.reject(problem) : Promise.resolve('rows');
  });

  expect(found).toBe('rows');
});

test('one that is not is refused for good, with its words', async () => {
  let count = 0;

  const refused = tryInTime(() => {
    count++;
    return Promise.reject(away);
  });

  await expect(refused).rejects.toMatchObject({
    code: 'unreachable',
    message: away.message,
    retryable: false,
  });
  expect(count).toBe(3);
});

test('anything else is thrown at once', async () => {
  const full = new DomainError('store-full', 'no room', { retryable: true });

  await expect(tryInTime(() => Promise.reject(full))).rejects.toBe(full);
});
