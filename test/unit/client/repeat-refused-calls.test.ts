import { repeatRefusedCalls } from '../../../src/client/repeat-refused-calls';

type Refusal = Parameters<ReturnType<typeof repeatRefusedCalls>['delayFunction']>[1];

const refused = (details: string, code = 8) => ({ code, details }) as unknown as Refusal;

/** The words of Temporal server 1.29. */
const BUSY = refused(
  'consistent query buffer is full, this may be caused by too many queries and workflow not able to process query fast enough',
);

test('a question that a busy workflow refused is asked again within a fifth of a second, many times', () => {
  const { delayFunction, retryableDecider } = repeatRefusedCalls();

  const pauses = Array.from({ length: 40 }, (_, index) => delayFunction(index + 1, BUSY));

  expect(Math.max(...pauses.slice(0, 3))).toBeLessThan(100);
  expect(Math.max(...pauses)).toBeLessThan(301);
  expect(retryableDecider(40, BUSY)).toBe(true);
  expect(retryableDecider(50, BUSY)).toBe(false);
});

test('other refusals are waited for as the SDK does', () => {
  const { delayFunction, retryableDecider } = repeatRefusedCalls();
  const overloaded = refused('namespace rate limit exceeded');
  const unknown = refused('no such workflow', 5);

  expect(delayFunction(1, overloaded)).toBeGreaterThan(1000);
  expect(retryableDecider(1, overloaded)).toBe(true);
  expect(retryableDecider(11, overloaded)).toBe(false);
  expect(retryableDecider(1, unknown)).toBe(false);
});

test('at the end nothing is repeated, and what was about to be is waited for', async () => {
  const { delayFunction, retryableDecider, end } = repeatRefusedCalls();
  let isRepeated = false;
  setTimeout(
    () => {
      isRepeated = true;
    },
    delayFunction(4, BUSY),
  );

  await end();

  expect(isRepeated).toBe(true);
  expect(retryableDecider(1, BUSY)).toBe(false);
  await end();
});
