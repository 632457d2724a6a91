import { LongSilence } from '../../../src/cli/long-silence';
import { recordOutput } from './recording-output';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('speaks at a terminal after two seconds, then every ten, with what is so at that moment', () => {
  const { output, stdout, stderr } = recordOutput({ terminal: true });
  let count = 0;
  const silence = new LongSilence(output, () => `${count} graded`);

  jest.advanceTimersByTime(1999);
  expect(stderr()).toBe('');
  jest.advanceTimersByTime(1);
  count = 7;
  jest.advanceTimersByTime(10_000);
  silence.end();
  jest.advanceTimersByTime(60_000);

  expect(stderr()).toBe('0 graded\n7 graded\n');
  expect(stdout()).toBe('');
});

test('says nothing where standard error is no terminal', () => {
  const { output, stderr } = recordOutput();
  const silence = new LongSilence(output, () => 'at it');

  jest.advanceTimersByTime(60_000);
  silence.end();

  expect(stderr()).toBe('');
});
