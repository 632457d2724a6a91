import { watchForStuckDatabase } from '../../../src/stack/stuck-database';

const COMPLAINT =
  'level=ERROR msg="Operation failed with internal error." error="UpdateTaskQueue failed. Failed to start transaction. Error: interrupted (9)"';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

function watched(answers: () => boolean) {
  const seen = { looks: 0, ends: 0 };
  const heed = watchForStuckDatabase({
    look: () => {
      seen.looks += 1;
      return Promise.resolve(answers());
    },
    onStuck: () => {
      seen.ends += 1;
    },
  });
  return { heed, seen };
}

test('a server whose database answers nothing any more is ended once, however much it complains', async () => {
  const { heed, seen } = watched(() => false);

  for (let second = 0; second < 120; second++) {
    heed(COMPLAINT);
    await jest.advanceTimersByTimeAsync(1000);
  }

  expect(seen).toEqual({ looks: 8, ends: 1 });
});

test('one that complains once and answers goes on, and is looked at again when it complains again', async () => {
  let isAnswering = true;
  const { heed, seen } = watched(() => isAnswering);

  heed(COMPLAINT);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual({ looks: 1, ends: 0 });

  isAnswering = false;
  heed(COMPLAINT);
  await jest.advanceTimersByTimeAsync(10_000);
  isAnswering = true;
  await jest.advanceTimersByTimeAsync(60_000);
  expect(seen.ends).toBe(0);
  expect(seen.looks).toBeLessThan(9);
});

test('other complaints are none of its business', async () => {
  const { heed, seen } = watched(() => false);

  heed('level=ERROR msg="context deadline exceeded"');
  await jest.advanceTimersByTimeAsync(60_000);

  expect(seen).toEqual({ looks: 0, ends: 0 });
});
