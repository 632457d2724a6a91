import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf } from './harness/runs';
import { TestStack } from './harness/stack';
import { KeptWorker, WorkerProcess } from './harness/worker-process';

/** One problem of eight ends the process of the worker that plays it. Each problem is played in one group of the two steps. */
const LIMIT_MS = 240_000;
const GROUPS = 8;
const GROUP_SIZE = 4;

/** A plug-in file whose environment is deadly, or the same without the problem that is. */
function sourceWith(isDeadly: boolean): string {
  return `
const fs = require('node:fs');
const path = require('node:path');
module.exports = { environments: { numbers: {
  problems: Array.from({ length: ${GROUPS} }, (_, index) => index),
  make: (problem) => ({
    initialObservation: () => ({ messages: [{ role: 'user', content: problem + '+1=' }] }),
    step: (action) => {
      if (${isDeadly} && problem === 5) {
        fs.appendFileSync(path.join(__dirname, 'deaths.log'), new Date().toISOString() + '\\n');
        process.exit(1);
      }
      const text = typeof action.content === 'string' ? action.content : '';
      return { reward: text.length, isDone: true, nextMessages: [] };
    },
  }),
} } };
`;
}

/** A stack of its own, since what shares a sampling worker with such an environment dies with it. */
class DyingStack {
  private constructor(
    readonly stack: TestStack,
    readonly runs: ReinforcementRuns,
    private readonly steady: WorkerProcess,
    private readonly sampling: KeptWorker,
  ) {}

  static async start(): Promise<DyingStack> {
    const stack = await TestStack.start();
    writeFileSync(join(stack.folder, 'deadly.config.js'), sourceWith(true));
    writeFileSync(join(stack.folder, 'harmless.config.js'), sourceWith(false));
    const steady = WorkerProcess.start(stack, ['workflows', 'training']);
    const sampling = new KeptWorker(() => WorkerProcess.start(stack, ['sampling']));
    return new DyingStack(stack, new ReinforcementRuns(stack), steady, sampling);
  }

  get deathCount(): number {
    return readFileSync(join(this.stack.folder, 'deaths.log'), 'utf8').trim().split('\n').length;
  }

  play(run: string, plugin: string, rolloutErrorTolerance: unknown): Promise<WorkflowHandle> {
    const plugins = join(this.stack.folder, `${plugin}.config.js`);
    const config = this.runs.config({
      ...{ steps: 2, evaluators: [], evalEvery: 0, plugins, rolloutErrorTolerance },
      environment: { type: 'plugin', environment: 'numbers', testSize: 0 },
    });
    return this.runs.start(run, config);
  }

  async stop(): Promise<void> {
    await Promise.all([this.steady.kill(), this.sampling.stop()]);
    await this.stack.stop();
  }
}

let patient: DyingStack;
let strict: DyingStack;
/** A death is noticed by a heartbeat that does not come, which takes seconds: both stories wait at once. */
let completing: WorkflowHandle;
let failing: WorkflowHandle;

beforeAll(async () => {
  [patient, strict] = await Promise.all([DyingStack.start(), DyingStack.start()]);
  completing = await patient.play('completes', 'deadly', 'retry');
  failing = await strict.play('fails', 'deadly', 'fail-fast');
}, LIMIT_MS);

afterAll(() => Promise.all([patient.stop(), strict.stop()]), LIMIT_MS);

test(
  'a group whose environment ends the process is given up, and every other one counts once, as it does without it',
  async () => {
    const report = await reportOf(completing);

    const { stack, runs } = patient;
    const metrics = await stack.store.readMetrics('completes');
    const sum = (name: string) => metrics.reduce((total, row) => total + (row[name] ?? 0), 0);
    expect(report).toMatchObject({ status: 'completed', step: 2 });
    expect(metrics.map(({ step }) => step)).toEqual([1, 2]);
    expect(sum('env/all/total_episodes')).toBe((GROUPS - 1) * GROUP_SIZE);
    expect(sum('rollout_errors/groups_skipped')).toBe(1);
    expect(sum('rollout_errors/environment_error')).toBe(1);
    // Two together and five by itself, and those between which other groups got done.
    expect(patient.deathCount).toBeGreaterThanOrEqual(7);

    await reportOf(await patient.play('twin', 'harmless', 'retry'));
    const [journalled, expected] = [runs.rollouts('completes'), runs.rollouts('twin')];
    const deadlyStep = metrics.find((row) => row['rollout_errors/groups_skipped'] === 1)?.step ?? 0;
    expect(Object.keys(journalled)).toEqual(Object.keys(expected));
    // After the step that lacks a group the weights are others.
    const sameWeights = Object.keys(expected).filter((place) => Number(place.split('/')[0]) <= deadlyStep);
    const differing = sameWeights.filter((place) => journalled[place] !== expected[place]);
    expect(differing).toHaveLength(1);
  },
  LIMIT_MS,
);

test(
  'where no failure is tolerated the run ends with the group, the deaths and what to look for',
  async () => {
    const { code, message } = await failureOf(failing);

    expect(code).toBe('request-failed');
    expect(message).toMatch(
      /^Rollout 1 of group \S+ failed \(environment_error\): the worker's process died 5 times in a row while this group alone was played/,
    );
    expect(await strict.stack.store.readState('fails')).toMatchObject({ status: 'failed', step: 0 });
  },
  LIMIT_MS,
);
