import { HeldTraining } from '../workflows/harness/held-training';
import { PythonStandIn } from '../workflows/harness/python-stand-in';
import { ReinforcementRuns } from '../workflows/harness/reinforcement-runs';
import { reportOf, untilStatus } from '../workflows/harness/runs';
import { TestStack } from '../workflows/harness/stack';

test('a run whose Python worker stays away is waiting, says for whom, and goes on with another', async () => {
  const training = await HeldTraining.create();
  const stack = await TestStack.start({ runtime: training });
  const runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
  const environment = { type: 'python', environment: 'digits', testSize: 2 };
  const python = await PythonStandIn.start(stack);
  const update = training.holdNext(0);

  const handle = await runs.start('waiting', runs.config({ environment, steps: 3, evalEvery: 0 }));
  await update.held();
  await python.stop();
  update.letGo();
  const { waitingFor } = await untilStatus(handle, ({ status }) => status === 'waiting');
  const again = await PythonStandIn.start(stack);
  const report = await reportOf(handle);
  await again.stop();
  await stack.stop();

  expect(waitingFor?.what).toContain('everstep-python');
  expect(report).toMatchObject({ status: 'completed', step: 3 });
});
