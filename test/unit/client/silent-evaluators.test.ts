import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { waitsOfRun } from '../../../src/client/pending-work';
import type { PendingActivity } from '../../../src/client/pending-work';
import { silenceText, silentEvaluators } from '../../../src/client/silent-evaluators';

const { PENDING_ACTIVITY_STATE_SCHEDULED: SCHEDULED, PENDING_ACTIVITY_STATE_STARTED: RUNNING } =
  temporal.api.enums.v1.PendingActivityState;
const NOW = Date.parse('2026-11-25T12:10:00.000Z');

function cell(told: object, more: Partial<PendingActivity> = {}): PendingActivity {
  const payload = defaultPayloadConverter.toPayload(told);
  return {
    activityType: { name: 'evaluateCell' },
    ...{ state: RUNNING, attempt: 1, heartbeatDetails: { payloads: [payload] } },
    ...more,
  };
}

const news = (evaluator: string, step: number, minutesAgo: number) => ({
  cell: { evaluator, step, newsAt: new Date(NOW - minutesAgo * 60_000).toISOString() },
});

test('an evaluator that has said nothing new for two minutes is named, with its steps, and since when', () => {
  const pending = [cell(news('never', 10, 3)), cell(news('quick', 2, 1.9)), cell(news('never', 2, 8))];

  const found = silentEvaluators(pending, NOW);

  expect(found.map(silenceText)).toEqual([
    'evaluator "never" of steps 2, 10 is at work, with nothing new since 2026-11-25T12:02:00.000Z',
  ]);
  expect(silentEvaluators(pending, NOW - 7 * 60_000)).toEqual([]);
});

test('one that has come on before is named too', () => {
  const [found] = silentEvaluators([cell({ done: 3, total: 9, ...news('stuck', 0, 2) })], NOW);

  expect(found && silenceText(found)).toBe(
    'evaluator "stuck" of step 0 is at work, with nothing new since 2026-11-25T12:08:00.000Z',
  );
});

test.each([
  ['says what it waits for', cell({ waiting: 'judge', ...news('a', 0, 9) })],
  ['is not at work', cell(news('a', 0, 9), { state: SCHEDULED })],
  ['is of a worker that sends no news', cell({ done: 1, total: 2 })],
  ['has told nothing', { activityType: { name: 'evaluateCell' }, state: RUNNING }],
])('none is named that %s', (_, activity) => {
  expect(silentEvaluators([activity], NOW)).toEqual([]);
});

test('an attempt that has told only which cell it is leaves the failure before it standing', () => {
  const times = { lastStartedTime: { seconds: 100 }, lastHeartbeatTime: { seconds: 101 } } as never as object;
  const failed = { attempt: 2, lastFailure: { message: 'the endpoint is away' }, ...times };

  expect(waitsOfRun([cell(news('a', 0, 9), failed)], NOW)).toEqual([
    'an evaluation waits: the endpoint is away',
  ]);
  expect(waitsOfRun([cell({ done: 1, ...news('a', 0, 9) }, failed)], NOW)).toEqual([]);
});
