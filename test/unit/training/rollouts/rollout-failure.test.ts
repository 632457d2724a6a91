import { DomainError } from '../../../../src/core/errors';
import type { RolloutFailureType } from '../../../../src/training/rollouts/rollout-failure';
import { failedStep, RolloutFailure } from '../../../../src/training/rollouts/rollout-failure';

function isTriedAgain(type: RolloutFailureType, cause: unknown): boolean {
  return failedStep('group', 0, new RolloutFailure(type, cause)).retryable;
}

test.each([
  ['sampling_error', new DomainError('request-failed', 'the server gave up', { retryable: true })],
  ['sampling_error', new Error('the connection was closed')],
  ['sampling_timeout', new DomainError('timed-out', 'no completion came')],
  ['judge_error', new DomainError('unreachable', 'the judge is away', { retryable: true })],
] as const)('what may pass is tried again where no failure is tolerated: %s, %s', (type, cause) => {
  expect(isTriedAgain(type, cause)).toBe(true);
});

test.each([
  [
    'sampling_error',
    new DomainError('request-failed', 'token 9000 is outside of the vocabulary', { category: 'user' }),
  ],
  ['sampling_error', new DomainError('protocol-error', 'The engine gave 0 finite log-probs for 4 tokens.')],
  ['environment_timeout', new Error('no answer within 300 s')],
  ['judge_error', new Error('no verdict could be read')],
] as const)('what would fail again ends the step: %s, %s', (type, cause) => {
  expect(isTriedAgain(type, cause)).toBe(false);
});
