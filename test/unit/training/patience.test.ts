import { createWaitReport } from '../../../src/engines/tinker/waiting';
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

  createWaitReport(patience.onWait).open().set({ what: 'capacity', queueState: 'paused_capacity' });
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
  createWaitReport(patience.onWait).open().set({ what: 'capacity' });

  overtaken.stop();
  jest.advanceTimersByTime(LIMIT_MS);

  expect(watch.reason()).toBe('capacity');
  expect(overtaken.reason()).toBeNull();
});

test('a call that waits is not forgotten for others that begin and end to wait meanwhile', () => {
  const patience = new Patience(LIMIT_MS);
  const watch = patience.watch();
  const report = createWaitReport(patience.onWait);
  report.open().set({ what: 'billing' });

  for (let passedMs = 0; passedMs < LIMIT_MS; passedMs += 500) {
    expect(watch.signal.aborted).toBe(false);
    const other = report.open();
    other.set({ what: 'no answer' });
    jest.advanceTimersByTime(500);
    other.clear();
  }

  expect(watch.signal.aborted).toBe(true);
  expect(watch.reason()).toMatch(/^billing/);
});

test('a service that answers in time is waited for again and again', () => {
  const patience = new Patience(LIMIT_MS);
  const watch = patience.watch();
  const report = createWaitReport(patience.onWait);

  let earlier = report.open();
  earlier.set({ what: 'no answer' });
  for (let count = 0; count < 10; count += 1) {
    jest.advanceTimersByTime(LIMIT_MS / 4);
    const later = report.open();
    later.set({ what: 'no answer' });
    jest.advanceTimersByTime(LIMIT_MS / 4);
    earlier.clear();
    earlier = later;
  }

  expect(watch.signal.aborted).toBe(false);
});

test('a wait that goes on when the next watch begins is counted from there', () => {
  const patience = new Patience(LIMIT_MS);
  const report = createWaitReport(patience.onWait);
  report.open().set({ what: 'capacity' });
  jest.advanceTimersByTime(10 * LIMIT_MS);

  const watch = patience.watch();
  jest.advanceTimersByTime(LIMIT_MS - 1);
  expect(watch.signal.aborted).toBe(false);
  jest.advanceTimersByTime(1);

  expect(watch.reason()).toBe('capacity');
});
