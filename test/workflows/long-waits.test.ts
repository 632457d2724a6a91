import type { WorkflowHandle } from '@temporalio/client';
import { WorkflowUpdateStage } from '@temporalio/client';
import type { LiveStatus } from '../../src/core/run';
import { pauseUpdate, resumeUpdate, timelineQuery } from '../../src/workflows/contracts';
import { HeldTraining } from './harness/held-training';
import { TestPlugins } from './harness/plugins';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, TestRuns, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

/** Runs that wait without end make history all the while: they have to go on in new executions, as if nothing had been. */
const LIMIT_MS = 240_000;
const BY = { by: 'test', reason: 'to see' };

let training: HeldTraining;
let stack: TestStack;
let runs: TestRuns;
let reinforcement: ReinforcementRuns;
let plugins: TestPlugins;

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new TestRuns(stack);
  reinforcement = new ReinforcementRuns(stack);
  plugins = new TestPlugins(stack.folder);
  await stack.startWorkers();
}, LIMIT_MS);

afterAll(async () => {
  await stack.stop();
  await training.close();
}, LIMIT_MS);

function isWaiting({ status }: LiveStatus): boolean {
  return status === 'waiting';
}

/** Waits until this many executions have followed the one that is there. */
async function untilLaterExecution(handle: WorkflowHandle, count = 1): Promise<void> {
  let { runId } = await handle.describe();
  for (let seen = 0; seen < count; seen += 1) {
    runId = await until(async () => {
      const later = (await handle.describe()).runId;
      return later === runId ? null : later;
    });
  }
}

test(
  'a service that is away for long: one run cannot open its model again, another cannot sample',
  async () => {
    const supervised = runs.config({ steps: 40, batchSize: 64 });
    training.holdAfter(5);
    const letGo = await runs.start('let-go', supervised, { maxHistoryEvents: 30, holdSeconds: 0 });
    await training.held();
    const pause = { ...BY, atStep: null, seconds: null, then: 'resume' as const };
    const asked = await letGo.startUpdate(pauseUpdate, {
      args: [pause],
      waitForStage: WorkflowUpdateStage.ACCEPTED,
    });
    training.letGo();
    await asked.result();
    await until(async () => {
      const events = await letGo.query(timelineQuery);
      return events.some(({ kind }) => kind === 'released') ? true : null;
    });
    const rewarded = reinforcement.config({ steps: 8 });
    const unsampled = await reinforcement.start('unsampled', rewarded, { maxHistoryEvents: 30 });
    await untilStatus(unsampled, ({ step }) => step >= 2);

    await stack.restartEngine(async () => {
      await letGo.executeUpdate(resumeUpdate, { args: [BY] });
      const cutOff = [letGo, unsampled];
      await Promise.all(cutOff.map((handle) => untilStatus(handle, isWaiting)));
      await Promise.all(cutOff.map((handle) => untilLaterExecution(handle, 2)));
      await Promise.all(cutOff.map((handle) => untilStatus(handle, isWaiting)));
    });

    await Promise.all([letGo, unsampled].map(reportOf));
    await runs.train('never-let-go', supervised);
    await reinforcement.train('sampled', rewarded);
    expect(await runs.outcome('let-go')).toEqual(await runs.outcome('never-let-go'));
    expect(await reinforcement.outcome('unsampled')).toEqual(await reinforcement.outcome('sampled'));
  },
  LIMIT_MS,
);

test(
  'evaluations that take long: one holds training still, another is all that is left of its run',
  async () => {
    const gated = { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: 'both' } };
    const schedule = { name: 'gated', at: [4], atStart: false, atEnd: false, evaluators: [gated] };
    const of = (more: object) =>
      runs.config({ plugins: plugins.file, steps: 8, schedules: [{ ...schedule, ...more }] });
    const held = await runs.start('held', of({ mode: 'blocking' }), { maxHistoryEvents: 20 });
    const trained = await runs.start('trained', of({ at: [8] }), { maxHistoryEvents: 20 });
    await untilStatus(held, ({ step, pendingEvaluations }) => step === 4 && pendingEvaluations === 1);
    await untilStatus(trained, ({ step, pendingEvaluations }) => step === 8 && pendingEvaluations === 1);

    await Promise.all([held, trained].map((handle) => untilLaterExecution(handle)));
    const stillHeld = await untilStatus(held, ({ totalSteps }) => totalSteps > 0);
    plugins.open('both');
    const reports = await Promise.all([held, trained].map(reportOf));

    expect(stillHeld).toMatchObject({ step: 4, pendingEvaluations: 1 });
    expect(reports).toMatchObject([
      { status: 'completed', step: 8 },
      { status: 'completed', step: 8 },
    ]);
    expect((await runs.scores('held')).map(({ step }) => step)).toEqual([4]);
    expect((await runs.scores('trained')).map(({ step }) => step)).toEqual([8]);
    expect(plugins.calls('both')).toBe(2);
  },
  LIMIT_MS,
);
