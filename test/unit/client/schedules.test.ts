import type { RunRecords } from '../../../src/client/run-records';
import { CanarySchedules } from '../../../src/client/schedules';
import type { ServerLink } from '../../../src/client/server-link';

test('a schedule that somebody else made in a shared namespace does not keep ours from being listed', async () => {
  const client = {
    schedule: {
      async *list() {
        yield* [{ scheduleId: 'canary/of/others' }, { scheduleId: 'canary/../outside' }, { scheduleId: 'x' }];
      },
    },
  };
  const link = { require: async () => client } as unknown as ServerLink;

  const listed = await new CanarySchedules(link, {} as RunRecords, { store: '/nowhere' }).list();

  expect(listed).toEqual([]);
});
