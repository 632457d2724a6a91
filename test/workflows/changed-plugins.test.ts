import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareResults } from '../../src/evaluation/compare/compare-results';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, until } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

const GROUPS = 4;
const GROUP_SIZE = 4;
const STEPS = 6;

let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
});

afterAll(() => stack.stop());

/** A plug-in file whose environment gives every reply this reward, and begins so many rollouts that are trained on. */
function write(file: string, reward: number, most = Infinity): void {
  writeFileSync(
    file,
    `let begun = 0;
    const isTrainedOn = (problem) => problem < 8;
    module.exports = { environments: { numbers: {
      problems: Array.from({ length: 8 }, (_, index) => index),
      testProblems: [8, 9],
      make: (problem) => ({
        async initialObservation() {
          if (isTrainedOn(problem) && ++begun > ${most}) await new Promise(() => undefined);
          return { messages: [{ role: 'user', content: problem + '+1=' }] };
        },
        step: () => ({ reward: ${reward}, isDone: true, nextMessages: [] }),
        gradeEarlyEnd: () => ({ reward: ${reward} }),
      }),
    } } };`,
  );
}

test('rewards of a plug-in file that changed while a run goes on are told, and are of another grader', async () => {
  const plugins = join(stack.folder, 'everstep.config.js');
  // Three steps of six: some are left for the file as it is then.
  write(plugins, 0.25, 3 * GROUPS * GROUP_SIZE);
  const config = runs.config({
    ...{ steps: STEPS, groupsPerBatch: GROUPS, groupSize: GROUP_SIZE, evalEvery: 2, plugins },
    environment: { type: 'plugin', environment: 'numbers' },
  });
  const first = WorkerProcess.start(stack);
  const run = await runs.start('changed', config);
  await until(async () =>
    (await stack.store.readScores('changed')).some(({ step }) => step === 2) ? true : null,
  );
  await first.kill();
  write(plugins, 0.75);
  const second = WorkerProcess.start(stack);
  const report = await reportOf(run);
  await second.kill();

  const state = await stack.store.readState('changed');
  const scores = await stack.store.readScores('changed');
  const rewardAt = (wanted: number) =>
    scores.find(({ step, metric }) => step === wanted && metric === 'env/all/reward/total');
  expect(report).toMatchObject({ status: 'completed', step: STEPS });
  expect([rewardAt(0)?.value, rewardAt(STEPS)?.value]).toEqual([0.25, 0.75]);
  const told = (state?.remarks ?? []).filter((remark) =>
    remark.startsWith(`plugins: ${plugins} is not what`),
  );
  expect(told).toEqual([expect.stringMatching(/First so at step \d\.$/)]);
  const events = await stack.store.readEvents('changed');
  expect(events.filter(({ kind, text }) => kind === 'remark' && told.includes(text))).toHaveLength(1);
  expect(scores.filter(({ remark }) => remark?.includes('its grader changed since step'))).not.toEqual([]);
  expect(rewardAt(0)?.grader).not.toBe(rewardAt(STEPS)?.grader);

  const folderOf = (step: number) => join(stack.store.runFolder('changed'), 'evals', String(step));
  const { warnings } = await compareResults(folderOf(STEPS), folderOf(0));
  expect(warnings).toContainEqual(expect.stringContaining('graderVersion'));
});
