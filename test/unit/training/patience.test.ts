import { Patience } from '../../../src/training/patience';

const LIMIT_MS = 5000;

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('lets a service keep it waiting for as long as the limit, and then says what for', () => {
  const patience = new Patience(LIMIT_MS);
  const watch = patience.watch();

  patience.onWait({ what: 'capacity', queueState: 'paused_capacity' });
  jest.advanceTimersByTime(LIMIT_MS - 1);
  expect(watch.signal.aborted).toBe(false);
  jest.advanceTimersByTime(1);

  expect(watch.signal.aborted).toBe(true);
  expect(watch.reason()).toBe('capacity (paused_capacity)');
});

test('an attempt that ends late leaves the watch of the one after it alone', () => {
  const patience = new Patience(LIMIT_MS);
  const overtaken = patience.watch();
  const watch = patience.watch();
  patience.onWait({ what: 'capacity' });

  overtaken.stop();
  jest.advanceTimersByTime(LIMIT_MS);

  expect(watch.reason()).toBe('capacity');
  expect(overtaken.reason()).toBeNull();
});
