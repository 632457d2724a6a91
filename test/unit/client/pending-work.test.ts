import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { placeWait, waitsOfRun } from '../../../src/client/pending-work';
import type { PendingActivity } from '../../../src/client/pending-work';

const { PENDING_ACTIVITY_STATE_SCHEDULED: SCHEDULED, PENDING_ACTIVITY_STATE_STARTED: RUNNING } =
  temporal.api.enums.v1.PendingActivityState;
type State = temporal.api.enums.v1.PendingActivityState;
const NOW = Date.parse('2026-11-25T12:00:10.000Z');

/** Ten seconds old. */
function pending(
  name: string,
  state: State = SCHEDULED,
  more: Partial<PendingActivity> = {},
): PendingActivity {
  const scheduledTime = { seconds: (NOW - 10_000) / 1000 } as unknown as PendingActivity['scheduledTime'];
  return { activityType: { name }, state, attempt: 1, scheduledTime: scheduledTime ?? null, ...more };
}

test('a segment that no worker has taken waits for a place, since it was scheduled', () => {
  expect(placeWait([pending('keepSession'), pending('runSegment')], NOW)).toEqual({
    what: 'a free place on a worker (everstep-training); start another worker with --roles training, or give more places with --concurrency training=N',
    since: '2026-11-25T12:00:00.000Z',
  });
});

test('a run that is not yet ready waits for its turn to be made so', () => {
  expect(placeWait([pending('prepareRun')], NOW)?.what).toBe(
    'a free place on a worker (everstep-preparation): other runs are made ready first; start another worker with --roles workflows',
  );
});

test.each([
  ['one that runs', [pending('runSegment', RUNNING)]],
  [
    'one that failed and is tried again',
    [pending('runSegment', SCHEDULED, { lastFailure: { message: 'x' } })],
  ],
  ['one that is tried again', [pending('runSegment', SCHEDULED, { attempt: 2 })]],
  ['a session that is not kept yet', [pending('keepSession')]],
  ['nothing', []],
])('%s waits for no place', (_, activities) => {
  expect(placeWait(activities, NOW)).toBeNull();
});

test('a segment whose worker was lost waits for another one, since its attempt ended', () => {
  const lastFailure = { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} };
  const lastAttemptCompleteTime = { seconds: (NOW - 5000) / 1000 } as never;
  const lost = pending('runSegment', SCHEDULED, { attempt: 2, lastFailure, lastAttemptCompleteTime });

  expect(placeWait([lost], NOW)).toEqual({
    what: 'another worker: the one that had the work is gone or hangs (everstep-training); start another worker with --roles training, or give more places with --concurrency training=N',
    since: '2026-11-25T12:00:05.000Z',
  });
  expect(placeWait([lost], NOW - 4000)).toBeNull();
  expect(placeWait([{ ...lost, state: RUNNING }], NOW)).toBeNull();
});

test('an evaluation of a run whose worker was lost says so', () => {
  const lastFailure = { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} };

  expect(waitsOfRun([pending('evaluateCell', SCHEDULED, { attempt: 2, lastFailure })], NOW)).toEqual([
    'an evaluation waits: another worker: the one that had the work is gone or hangs; `npx everstep dev` starts its own again; elsewhere, where no other takes it up, start one with `npx everstep worker`',
  ]);
});

test('what one worker after another was lost with is taken for the reason', () => {
  const lastFailure = { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} };

  expect(waitsOfRun([pending('sampleRollouts', SCHEDULED, { attempt: 4, lastFailure })], NOW)).toEqual([
    'rollouts wait: another worker: the one that had the work is gone or hangs (attempt 4 is next); what it runs, or what runs beside it, may end or block its worker, whose log says why (with `dev`, in `.everstep/logs`)',
  ]);
});

test('work that was scheduled just now is not waited for', () => {
  expect(placeWait([pending('openModel')], NOW - 8000)).toBeNull();
  expect(waitsOfRun([pending('evaluateCell')], NOW - 8000)).toEqual([]);
});

test('evaluations and rollouts of a run say that they wait for a place', () => {
  expect(waitsOfRun([pending('evaluateCell'), pending('sampleRollouts')], NOW)).toEqual([
    'an evaluation waits: a free place on a worker',
    'rollouts wait: a free place on a worker',
  ]);
});

test('a run that is made ready says that it waits for its training service', () => {
  const payload = defaultPayloadConverter.toPayload({ waiting: 'the service is away' });
  const activity = pending('prepareRun', RUNNING, { heartbeatDetails: { payloads: [payload] } });

  expect(waitsOfRun([activity], NOW)).toEqual(['its preparation waits: the service is away']);
  expect(waitsOfRun([pending('prepareRun')], NOW)).toEqual([]);
});

test('a run that is gone on with says what that waits for', () => {
  const lastFailure = { message: 'Maximum number of models (1) reached.' };

  expect(waitsOfRun([pending('continueRun', SCHEDULED, { attempt: 2, lastFailure })], NOW)).toEqual([
    'going on with it waits: Maximum number of models (1) reached.',
  ]);
  expect(placeWait([pending('continueRun')], NOW)?.what).toContain('everstep-preparation');
});
