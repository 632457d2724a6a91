import { join } from 'node:path';
import { DomainError } from '../../../../src/core/errors';
import type { RolloutFailureType } from '../../../../src/training/rollouts/rollout-failure';
import { failedStep, RolloutFailure } from '../../../../src/training/rollouts/rollout-failure';

function isTriedAgain(type: RolloutFailureType, cause: unknown): boolean {
  return failedStep({ id: 'group' }, 0, new RolloutFailure(type, cause)).retryable;
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

describe('where an environment threw', () => {
  const messageOf = (cause: unknown) =>
    failedStep({ id: 'g' }, 0, new RolloutFailure('environment_error', cause)).message;
  const thrown = (stack: unknown) => Object.assign(new Error('boom'), { stack });

  test('is told by file, line and column, past the frames of packages and of our own', () => {
    const ours = join(__dirname, '..', '..', '..', '..', 'src', 'training', 'rollouts', 'play-rollout.ts');
    const stack = `Error: boom\n    at f (/x/node_modules/y/z.js:1:2)\n    at g (${ours}:3:4)\n    at Proxy.step (/home/me/mine.ts:13:11)`;

    expect(messageOf(thrown(stack))).toMatch(/: boom \(thrown at \/home\/me\/mine\.ts:13:11\)\. Repair it/);
    expect(messageOf(thrown('Error: boom\n    at async file:///home/me/mine.mjs:1:2'))).toContain(
      '(thrown at /home/me/mine.mjs:1:2)',
    );
  });

  test.each([
    [
      'nothing but our own frames',
      thrown(`Error: boom\n    at h (${join(__dirname, '../../../../src/a.ts')}:1:1)`),
    ],
    [
      'frames of Node itself',
      thrown(
        'Error: boom\n    at async node:internal/process/task_queues:95:5\n    at x (node:fs/promises:1:2)',
      ),
    ],
    ['a message that looks like a frame', thrown('Error: at f (/x/y.ts:1:1)')],
    ['no stack', thrown(undefined)],
    ['a text', 'boom'],
    [
      'a stack that throws',
      Object.defineProperty(new Error('boom'), 'stack', {
        get() {
          throw new Error('no');
        },
      }),
    ],
  ])('is left out for %s', (_what, cause) => {
    expect(messageOf(cause)).toMatch(/\(environment_error\): boom\. Repair it/);
  });
});

test('a step that failed is told with rollout, group and problem', () => {
  const failed = { id: 'sums-"1"', place: { step: 4, group: 2 } };

  expect(failedStep(failed, 0, new RolloutFailure('environment_error', new Error('boom'))).message).toMatch(
    /^Rollout 1 of group 2 of step 4, of problem "sums-\\"1\\"", failed \(environment_error\): boom/,
  );
});
