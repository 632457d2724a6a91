import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { describeRun } from '../../../src/client/workflow-answers';
import { FakeServer } from './fake-server';

const { PENDING_ACTIVITY_STATE_STARTED: RUNNING } = temporal.api.enums.v1.PendingActivityState;

/** A workflow that evaluates, in which one evaluator has said nothing for an hour. */
function hanging(evaluator: string) {
  const cell = { evaluator, step: 0, newsAt: new Date(Date.now() - 3_600_000).toISOString() };
  const payloads = [defaultPayloadConverter.toPayload({ cell })];
  const activity = { activityType: { name: 'evaluateCell' }, state: RUNNING, attempt: 1 };
  return {
    status: 'RUNNING',
    pendingActivities: [{ ...activity, heartbeatDetails: { payloads } }],
  } as const;
}

test('an evaluation that an execution before this one began is looked at too, and none of another run', async () => {
  const server = new FakeServer({
    'train/one': { status: 'RUNNING' },
    'eval/one/0': hanging('mine'),
    'eval/one/20': { ...hanging('over'), status: 'COMPLETED' },
    'eval/one-more/0': hanging('foreign'),
  });
  const client = await server.link.find();

  const facts = client && (await describeRun(client, 'one'));

  expect(facts).toMatchObject({ silentEvaluators: [{ evaluator: 'mine', steps: [0] }] });
});
