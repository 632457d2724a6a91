import { ScheduleNotFoundError } from '@temporalio/client';
import { CanarySchedule } from '../../../src/client/schedule-handle';
import type { ServerLink } from '../../../src/client/server-link';

function scheduleOn(describe: (() => Promise<unknown>) | null): CanarySchedule {
  const client = {
    withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
    schedule: { getHandle: () => ({ describe }) },
  };
  const link = { find: async () => (describe === null ? null : client) } as unknown as ServerLink;
  return new CanarySchedule('nightly', link, '/nowhere');
}

test.each([
  [
    'a server that has it no more',
    () => Promise.reject(new ScheduleNotFoundError('gone', 'canary/nightly')),
    true,
  ],
  ['one that has it', () => Promise.resolve({}), false],
  ['one that fails', () => Promise.reject(new Error('late')), false],
  ['no server', null, false],
])('a schedule is missing only where a server says so: %s', async (_what, describe, isMissing) => {
  expect(await scheduleOn(describe).isMissing()).toBe(isMissing);
});
