import { JudgeEndpoint } from '../workflows/harness/judge-endpoint';
import { ReinforcementRuns } from '../workflows/harness/reinforcement-runs';
import { reportOf, until, untilStatus, writeSums } from '../workflows/harness/runs';
import { TestStack } from '../workflows/harness/stack';

const say = (): string => 'Rating: [[3]]';

test('a run whose judge stays away for longer than an endpoint is given is waiting, and goes on when it is back', async () => {
  const stack = await TestStack.start();
  const runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
  const leaving = await JudgeEndpoint.start(say);
  const port = Number(new URL(leaving.url).port);
  leaving.held.add('leaving');
  const environment = {
    ...{ type: 'modelGraded', method: 'score', dataset: { path: writeSums(stack.folder).train } },
    ...{ judge: { model: 'leaving', endpoint: leaving.url }, testSize: 0 },
  };

  const handle = await runs.start(
    'waits',
    runs.config({ steps: 1, evalEvery: 0, evaluators: [], environment }),
  );
  await until(() => (leaving.countOf('leaving') > 0 ? true : null));
  await leaving.close();
  const { waitingFor } = await untilStatus(handle, ({ status }) => status === 'waiting');
  const back = await JudgeEndpoint.start(say, port);
  const report = await reportOf(handle);
  await back.close();
  await stack.stop();

  expect(waitingFor?.what).toContain(`127.0.0.1:${port}`);
  expect(report).toMatchObject({ status: 'completed', step: 1 });
  expect(back.repeatedTo('leaving')).toBe(0);
});
