import {
  ActivityFailure,
  ApplicationFailure,
  RetryState,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import { timeoutWords } from '../../../src/client/timeout-words';

const HEARTBEAT = new TimeoutFailure('activity Heartbeat timeout', undefined, TimeoutType.HEARTBEAT);

function ofActivity(cause: Error): ActivityFailure {
  return new ActivityFailure('Activity task timed out', 'x', '1', RetryState.TIMEOUT, 'host', cause);
}

function saying(message: string): ApplicationFailure {
  return ApplicationFailure.create({ message, type: 'failed', cause: ofActivity(HEARTBEAT) });
}

test('a timeout of the server is told in words for people, however it is wrapped', () => {
  const late = new TimeoutFailure('activity StartToClose timeout', undefined, TimeoutType.START_TO_CLOSE);
  const whole = new TimeoutFailure('Workflow execution timed out', undefined, TimeoutType.START_TO_CLOSE);

  expect(timeoutWords(ofActivity(HEARTBEAT))).toMatch(/^the worker that had its work is gone or hangs/);
  expect(timeoutWords(saying(HEARTBEAT.message))).toMatch(/^the worker that had its work is gone or hangs/);
  expect(timeoutWords(ofActivity(late))).toBe('its work was not done within the time it may take');
  expect(timeoutWords(whole)).toBe('its workflow took longer than it may on the server');
});

test('what has words of its own keeps them', () => {
  expect(timeoutWords(saying('The service refused forward_backward.'))).toBeNull();
  expect(timeoutWords(new Error('boom'))).toBeNull();
});
