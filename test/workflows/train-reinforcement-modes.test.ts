import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

const LIMIT_MS = 240_000;
/** Of a step in flight: four groups of four, six tokens each. */
const STEP_TOKENS = 4 * 4 * 6;

let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
}, LIMIT_MS);

afterAll(() => stack.stop(), LIMIT_MS);

async function stepOf(run: string): Promise<number> {
  return (await stack.store.readLastMetrics(run))?.step ?? 0;
}

/** Tokens that the run's journal holds. */
function tokensJournalled(run: string): number {
  const groups = Object.values(runs.rollouts(run));
  return groups.reduce((sum, text) => sum + runs.tokensIn(text), 0);
}

async function expectEachBatchOnce(run: string, steps: number): Promise<void> {
  const metrics = await stack.store.readMetrics(run);
  expect(await stack.store.readState(run)).toMatchObject({ status: 'completed', step: steps });
  expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
  expect(metrics.map((row) => row['optim/updates'])).toEqual(metrics.map(({ step }) => step));
  expect(metrics.every((row) => row['env/all/total_episodes'] === 16)).toBe(true);
  expect(Object.keys(runs.rollouts(run))).toHaveLength(steps * 4);
}

describe('sampling ahead with streamed minibatches', () => {
  const both = { steps: 8, maxStepsOffPolicy: 1, streamedMinibatches: 2, evalEvery: 0 };

  test(
    'counts every batch once and samples nothing twice',
    async () => {
      const before = await runs.tokensSampled();

      await runs.train('both', runs.config(both));

      await expectEachBatchOnce('both', 8);
      expect((await runs.tokensSampled()) - before).toBe(tokensJournalled('both'));
    },
    LIMIT_MS,
  );

  test(
    'so it does when its worker is killed, and samples again at most what was in flight',
    async () => {
      await stack.stopWorkers();
      const before = await runs.tokensSampled();

      const handle = await runs.start('both-killed', runs.config(both));
      for (const step of [1, 3, 5]) {
        const worker = WorkerProcess.start(stack);
        await until(async () => ((await stepOf('both-killed')) >= step ? true : null));
        await worker.kill();
      }
      await stack.startWorkers();
      await reportOf(handle);

      await expectEachBatchOnce('both-killed', 8);
      const twice = (await runs.tokensSampled()) - before - tokensJournalled('both-killed');
      expect(twice).toBeGreaterThanOrEqual(0);
      expect(twice).toBeLessThanOrEqual(3 * STEP_TOKENS);
    },
    LIMIT_MS,
  );

  test(
    'so it does when the engine loses the model: journalled rollouts are trained again, without sampling',
    async () => {
      const handle = await runs.start('both-lost', runs.config(both));
      await until(async () => ((await stepOf('both-lost')) >= 4 ? true : null));
      await stack.restartEngine();
      await reportOf(handle);

      await expectEachBatchOnce('both-lost', 8);
      const state = await stack.store.readState('both-lost');
      expect(state?.rewinds).toBeGreaterThan(0);
      // The engine counts from its start.
      expect(await runs.tokensSampled()).toBeLessThanOrEqual(tokensJournalled('both-lost'));
    },
    LIMIT_MS,
  );
});

test(
  'says how far the updates of a step moved the policy, the same after the model was lost',
  async () => {
    const given = runs.config({ steps: 4, computePostKl: true, numSubsteps: 2, saveEvery: 0, evalEvery: 0 });
    await runs.train('moved', given);
    const handle = await runs.start('moved-lost', given);
    await until(async () => ((await stepOf('moved-lost')) >= 2 ? true : null));
    await stack.restartEngine();
    await reportOf(handle);

    const rows = await stack.store.readMetrics('moved');
    expect(rows.every((row) => Number(row['kl_pre_post_v2']) > 0)).toBe(true);
    expect(rows.every((row) => Number(row['kl_pre_post_v1']) !== 0)).toBe(true);
    expect(await stack.store.readMetrics('moved-lost')).toEqual(rows);
  },
  LIMIT_MS,
);

test(
  'scores what was drawn once more, where the run says so',
  async () => {
    await runs.train('rescored', runs.config({ steps: 2, computeLogprobs: true, evalEvery: 0 }));

    const rows = await stack.store.readMetrics('rescored');
    expect(rows.every((row) => Math.abs(Number(row['optim/kl_sample_train_v1'])) < 1e-4)).toBe(true);
    expect(rows.every((row) => Number(row['optim/entropy']) > 0)).toBe(true);
  },
  LIMIT_MS,
);

describe('a loss that is computed here', () => {
  const short = { steps: 3, saveEvery: 0, evalEvery: 0, numSubsteps: 2 };

  test(
    'of a plug-in has the gradient of its slopes: importance sampling written anew is the service’s own',
    async () => {
      const plugins = join(stack.folder, 'losses.config.js');
      writeFileSync(
        plugins,
        `module.exports = { losses: { mine: ({ logprobs, sampledLogprobs, advantages, mask }) => {
          const surrogate = Array.from(mask, (weight, index) =>
            weight * Math.exp(logprobs[index] - sampledLogprobs[index]) * advantages[index]);
          return { loss: -surrogate.reduce((sum, each) => sum + each, 0), slopes: surrogate.map((each) => -each) };
        } } };`,
      );

      await runs.train('own-loss', runs.config({ ...short, plugins, lossFunction: { plugin: 'mine' } }));
      await runs.train('its-loss', runs.config(short));

      const own = await stack.store.readMetrics('own-loss');
      const its = await stack.store.readMetrics('its-loss');
      expect(own).toHaveLength(3);
      for (const key of ['optim/grad_norm', 'train/loss', 'optim/kl_sample_train_v2'])
        expect(Number(own[0]?.[key])).toBeCloseTo(Number(its[0]?.[key]), 4);
      expect(own.at(-1)?.['optim/updates']).toBe(its.at(-1)?.['optim/updates']);
    },
    LIMIT_MS,
  );

  test(
    'leaves what an undisturbed run leaves, although the engine loses the model',
    async () => {
      const dro = runs.config({ ...short, steps: 6, saveEvery: 2, lossFunction: 'dro' });
      await runs.train('dro', dro);
      const handle = await runs.start('dro-lost', dro);
      await until(async () => ((await stepOf('dro-lost')) >= 3 ? true : null));
      await stack.restartEngine();
      await reportOf(handle);

      expect(await runs.outcome('dro-lost')).toEqual(await runs.outcome('dro'));
    },
    LIMIT_MS,
  );

  test(
    'is refused by name where the plug-in file has none',
    async () => {
      const handle = await runs.start('no-loss', runs.config({ ...short, lossFunction: { plugin: 'none' } }));

      expect((await failureOf(handle)).message).toContain('has no loss "none"');
    },
    LIMIT_MS,
  );
});

describe('an environment of a Python worker', () => {
  let connection: NativeConnection;

  beforeAll(async () => {
    connection = await NativeConnection.connect({ address: stack.address });
  });

  afterAll(() => connection.close());

  /** Meets the contract of examples/python-worker: one turn, right when the reply has the digit of the problem. */
  async function standIn(): Promise<() => Promise<void>> {
    const queue = `own-${Math.random()}`;
    const requireKnown = (environment: unknown) => {
      if (environment === 'digits') return;
      const message = `The Python worker has no environment "${String(environment)}". It has: digits.`;
      throw ApplicationFailure.nonRetryable(message, 'unknown-python-name');
    };
    const activities = {
      readProblems: async ({ environment, path }: { environment: string; path: string }) => {
        requireKnown(environment);
        mkdirSync(dirname(path), { recursive: true });
        const rows = Array.from({ length: 10 }, (_, digit) => JSON.stringify({ problem: digit }));
        writeFileSync(path, `${rows.join('\n')}\n`);
        return { path, rowCount: rows.length };
      },
      playEnvironments: async ({ calls }: { calls: readonly PlayedCall[] }) => {
        heartbeat();
        return { queue, answers: calls.map((call) => ({ value: answerTo(call) })) };
      },
    };
    const started = await Promise.all(
      ['everstep-python', queue].map((taskQueue) =>
        Worker.create({ connection, namespace: stack.namespace, taskQueue, activities }),
      ),
    );
    const ended = started.map((worker) => worker.run());
    return async () => {
      for (const worker of started) worker.shutdown();
      await Promise.all(ended);
    };
  }

  interface PlayedCall {
    readonly turn: number;
    readonly problem?: number;
    readonly message?: { readonly content: string };
  }

  function answerTo({ turn, problem, message }: PlayedCall): object | boolean {
    if (turn < 0) return true;
    if (turn === 0)
      return { messages: [{ role: 'user', content: `${String(problem)}=` }], judgesCutReplies: true };
    const correct = Number(/[02468]/.test(message?.content ?? ''));
    return { reward: correct, isDone: true, nextMessages: [], metrics: { correct } };
  }

  const environment = { type: 'python', environment: 'digits', testSize: 2 };

  test(
    'is trained on and measured, and named where no worker has it',
    async () => {
      const stop = await standIn();
      await runs.train('digits', runs.config({ environment, steps: 2, evalEvery: 2 }));
      const refused = await runs.start(
        'nobody',
        runs.config({ environment: { ...environment, environment: 'none' } }),
      );
      const failure = await failureOf(refused);
      await stop();

      const keys = (await stack.store.readScores('digits')).map(({ step, key }) => `${step} ${key}`);
      expect(keys).toEqual(expect.arrayContaining(['0 test/env/all/correct', '2 test/env/all/correct']));
      expect(failure.message).toContain('has no environment "none". It has: digits.');
    },
    LIMIT_MS,
  );

  test(
    'is waited for, and the run says so',
    async () => {
      const stop = await standIn();
      const handle = await runs.start('waiting', runs.config({ environment, steps: 30, evalEvery: 0 }));
      await until(async () => ((await stepOf('waiting')) >= 2 ? true : null));
      await stop();
      const status = await untilStatus(handle, ({ waitingFor }) => waitingFor !== null);
      const again = await standIn();
      const report = await reportOf(handle);
      await again();

      expect(JSON.stringify(status.waitingFor)).toContain('everstep-python');
      expect(report.status).toBe('completed');
    },
    LIMIT_MS,
  );
});
