import { DomainError } from '../../../src/core/errors';
import { untilReachable } from '../../../src/training/until-reachable';

const away = () => new DomainError('unreachable', 'the service is away', { retryable: true });

/** A service that answers from the time given on, asked once a second of a clock of its own. */
function service(backAfterMs: number) {
  let time = 0;
  const told: (string | null)[] = [];
  const options = {
    signal: new AbortController().signal,
    now: () => time,
    onWaiting: (reason: string | null) => told.push(reason),
    pause: () => {
      time += 1000;
      return Promise.resolve();
    },
  };
  const ask = () => (time >= backAfterMs ? Promise.resolve('here') : Promise.reject(away()));
  return { ask, options, told };
}

test('a service that comes back within minutes is waited for, and what is waited for is told until it is there', async () => {
  const { ask, options, told } = service(200_000);

  expect(await untilReachable(ask, options)).toBe('here');
  expect(told).toHaveLength(201);
  expect([told[0], told.at(-1)]).toEqual(['the service is away', null]);
});

test('one that stays away is given up for good, in its own words', async () => {
  const { ask, options } = service(Infinity);

  await expect(untilReachable(ask, options)).rejects.toMatchObject({
    code: 'unreachable',
    message: 'the service is away',
    retryable: false,
  });
});

test('what it refuses is not asked again', async () => {
  const { options, told } = service(0);
  const refused = new DomainError('unauthorized', 'no key');

  await expect(untilReachable(() => Promise.reject(refused), options)).rejects.toBe(refused);
  expect(told).toEqual([]);
});

test('whoever is called off waits no longer', async () => {
  const controller = new AbortController();
  const waiting = untilReachable(() => Promise.reject(away()), { signal: controller.signal });
  controller.abort();

  await expect(waiting).rejects.toThrow(/abort/);
});
