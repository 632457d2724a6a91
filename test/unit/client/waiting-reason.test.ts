import { defaultPayloadConverter } from '@temporalio/common';
import { findWaiting } from '../../../src/client/eval-waiting';
import { waitingReason } from '../../../src/client/eval-workflow';
import type { ServerLink } from '../../../src/client/server-link';

const [SCHEDULED, RUNNING] = [1, 2];

/** A server that describes every workflow so. */
function describedAs(raw: object): ServerLink {
  const client = {
    withDeadline: async (_: number, call: () => Promise<unknown>) => call(),
    workflow: { getHandle: () => ({ describe: async () => ({ raw }) }) },
  };
  return { description: '127.0.0.1:7233', find: async () => client } as unknown as ServerLink;
}

function activity(state: number, { told, failure }: { told?: unknown; failure?: string }): object {
  return {
    state,
    ...(told !== undefined && { heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(told)] } }),
    ...(failure !== undefined && { lastFailure: { message: failure } }),
  };
}

function reasonOf(raw: object): Promise<string | null> {
  return waitingReason(describedAs(raw), 'bench/run/gsm8k');
}

test('a shard that broke down on a programming error says so, whatever it told before', async () => {
  const pendingActivities = [
    activity(RUNNING, { told: { done: 3, total: 10 } }),
    activity(SCHEDULED, { told: { waiting: 'the endpoint is full' }, failure: 'units is not defined' }),
  ];

  expect(await reasonOf({ pendingActivities })).toBe('units is not defined');
});

test('an attempt that runs tells what it waits for itself', async () => {
  const told = { waiting: 'the judge is away' };

  expect(await reasonOf({ pendingActivities: [activity(RUNNING, { told, failure: 'earlier' })] })).toBe(
    'the judge is away',
  );
});

test('a failure is over once the attempt after it has told how far it is', async () => {
  const times = { lastStartedTime: { seconds: 100 }, lastHeartbeatTime: { seconds: 101 } };
  const after = activity(RUNNING, { told: { done: 3, total: 10 }, failure: 'the endpoint is away' });
  const silent = activity(RUNNING, { failure: 'the endpoint is away' });
  const early = { ...times, lastHeartbeatTime: { seconds: 99 } };

  expect(await reasonOf({ pendingActivities: [{ ...after, ...times }] })).toBeNull();
  expect(await reasonOf({ pendingActivities: [{ ...after, ...early }] })).toBe('the endpoint is away');
  expect(await reasonOf({ pendingActivities: [{ ...silent, ...times }] })).toBe('the endpoint is away');
});

test('work whose worker was lost waits for another one, in words that say what to do, and not for what it told before', async () => {
  const lost = {
    ...activity(SCHEDULED, { told: { waiting: 'the judge is away' }, failure: 'activity Heartbeat timeout' }),
  };
  const failedBy = (timeoutType: number) => ({
    lastFailure: { message: 'activity timeout', timeoutFailureInfo: { timeoutType } },
  });
  const [START_TO_CLOSE, HEARTBEAT] = [1, 4];

  expect(await reasonOf({ pendingActivities: [{ ...lost, ...failedBy(HEARTBEAT) }] })).toBe(
    'another worker: the one that had the work is gone or hangs; `npx everstep dev` starts its own again; elsewhere, where no other takes it up, start one with `npx everstep worker`',
  );
  expect(await reasonOf({ pendingActivities: [{ ...lost, ...failedBy(START_TO_CLOSE) }] })).toMatch(
    /^another worker: the one that had the work did not end it within the time it may take; `npx everstep dev` starts/,
  );
  expect(
    await reasonOf({ pendingActivities: [{ ...lost, ...failedBy(HEARTBEAT), state: RUNNING }] }),
  ).toBeNull();
});

test('a workflow whose own code fails is no silent wait', async () => {
  expect(await reasonOf({ pendingWorkflowTask: { attempt: 5 }, pendingActivities: [] })).toBe(
    'the workflow was tried 4 times on the workers in vain: its code fails, as their log says then, or they get too little processor time',
  );
});

test('a benchmark of which no worker has taken anything waits for a place, one of which something goes on does not', async () => {
  const queued = { ...activity(SCHEDULED, {}), scheduledTime: { seconds: 1_700_000_000 } };

  expect(await reasonOf({ pendingActivities: [queued, queued] })).toBe('a free place on a worker');
  expect(await reasonOf({ pendingActivities: [queued, activity(RUNNING, {})] })).toBeNull();
});

test('nothing is waited for while all goes on', async () => {
  const pendingActivities = [activity(RUNNING, { told: { done: 3, total: 10 } })];

  expect(await reasonOf({ pendingWorkflowTask: { attempt: 1 }, pendingActivities })).toBeNull();
});

test('of an eval run it tells what each benchmark under way waits for, and nothing without a server', async () => {
  const raw = { pendingActivities: [activity(RUNNING, { told: { waiting: 'the judge is away' } })] };
  const workflowIds = ['bench/mine/gsm8k', 'bench/other/math'];
  const client = {
    withDeadline: async (_: number, call: () => Promise<unknown>) => call(),
    workflow: {
      getHandle: () => ({ describe: async () => ({ raw }) }),
      async *list() {
        yield* workflowIds.map((workflowId) => ({ workflowId, memo: {}, startTime: new Date(0) }));
      },
    },
  };
  const linkTo = (found: unknown) =>
    ({ description: '127.0.0.1:7233', find: async () => found }) as unknown as ServerLink;

  expect(await findWaiting(linkTo(client), 'mine')).toEqual([
    { benchmark: 'gsm8k', reason: 'the judge is away' },
  ]);
  expect(await findWaiting(linkTo(null), 'mine')).toEqual([]);
});
