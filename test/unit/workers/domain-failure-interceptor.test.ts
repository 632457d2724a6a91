import type { Context } from '@temporalio/activity';
import type { ActivityExecuteInput } from '@temporalio/worker';
import { Streaks } from '../../../src/core/defects';
import { DomainError } from '../../../src/core/errors';
import { DomainFailureInterceptor } from '../../../src/workers/domain-failure-interceptor';

const INPUT: ActivityExecuteInput = { args: [], headers: {} };
let streaks: Streaks;

beforeEach(() => {
  streaks = new Streaks();
});

async function attempt(number: number, error: Error | null, activityId = '1'): Promise<unknown> {
  const given = {
    info: { attempt: number, activityId, workflowExecution: { workflowId: 'train/r', runId: 'a' } },
    log: { debug: () => undefined },
  };
  const interceptor = new DomainFailureInterceptor(given as unknown as Context, streaks);
  return interceptor
    .execute(INPUT, () => (error === null ? Promise.resolve('done') : Promise.reject(error)))
    .catch((thrown: unknown) => thrown);
}

const broken = new Error('it is broken');
const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

test('an error that nobody foresaw is reported for good at the fifth time in a row', async () => {
  for (const number of [1, 2, 3, 4]) expect(await attempt(number, broken)).toBe(broken);
  expect(await attempt(5, broken)).toMatchObject({
    type: 'unexpected',
    nonRetryable: true,
    message: 'it is broken (after 5 attempts)',
  });
});

test('it ends nothing after a long outage', async () => {
  for (const number of [1, 2, 3, 4, 5, 6, 7]) expect(await attempt(number, away)).toBe(away);
  expect(await attempt(8, broken)).toBe(broken);
});

test.each([
  ['what passes', away],
  ['a failure of the domain', new DomainError('unreachable', 'away', { retryable: true })],
  ['success', null],
])('%s ends a streak', async (_, between) => {
  for (const number of [1, 2, 3, 4]) await attempt(number, broken);
  await attempt(5, between);
  expect(await attempt(6, broken)).toBe(broken);
});

test('activities are counted apart', async () => {
  for (const number of [1, 2, 3, 4]) await attempt(number, broken);
  expect(await attempt(1, broken, '2')).toBe(broken);
});

test('a defect is reported for good at its fifth attempt, whatever the others were', async () => {
  const defect = new TypeError('row.map is not a function');
  expect(await attempt(4, defect)).toBe(defect);
  expect(await attempt(5, defect)).toMatchObject({ type: 'unexpected', nonRetryable: true });
});
