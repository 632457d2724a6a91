import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { controlsQuery, pauseUpdate, resumeUpdate } from '../../src/workflows/contracts';
import { ForgetfulEngine } from './harness/forgetful-engine';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

const LIMIT_MS = 240_000;

let stack: TestStack;
let runs: ReinforcementRuns;
let plugins: string;

/** Member 1 of each group fails: always, or the first time it is asked; or it hangs. */
const SOURCE = `
const tried = new Set();
const environment = (fails) => ({
  problems: Array.from({ length: 12 }, (_, index) => index),
  make: (problem, member) => ({
    initialObservation: () => {
      const failing = member === 1 && fails(problem);
      if (failing instanceof Promise) return failing;
      if (failing) throw new Error('the simulator is broken');
      return { messages: [{ role: 'user', content: problem + '+1=' }] };
    },
    step: (action) => {
      const text = typeof action.content === 'string' ? action.content : '';
      return { reward: text.length, isDone: true, nextMessages: [] };
    },
  }),
});
module.exports = {
  environments: {
    broken: environment(() => true),
    hanging: environment(() => new Promise(() => undefined)),
    shaky: environment((problem) => !tried.has(problem) && Boolean(tried.add(problem))),
  },
};
`;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
  plugins = join(stack.folder, 'everstep.config.js');
  writeFileSync(plugins, SOURCE);
  await stack.startWorkers();
}, LIMIT_MS);

afterAll(() => stack.stop(), LIMIT_MS);

function config(environment: string, rolloutErrorTolerance: unknown) {
  return runs.config({
    ...{ steps: 2, evalEvery: 0, plugins, rolloutErrorTolerance },
    environment: { type: 'plugin', environment, testSize: 0 },
  });
}

test(
  'fails the run with the rollout and the remedy where no failure is tolerated',
  async () => {
    const failure = await failureOf(await runs.start('strict', config('broken', 'fail-fast')));

    expect(failure.message).toMatch(
      /^Rollout 2 of group .* the simulator is broken \(thrown at .*everstep\.config\.js:\d+:\d+\)\. Repair it, .*rolloutErrorTolerance/,
    );
    expect((await stack.store.readState('strict'))?.status).toBe('failed');
  },
  LIMIT_MS,
);

test(
  'fails the run with the rollout where an environment hangs and no failure is tolerated',
  async () => {
    const hanging = { ...config('hanging', 'fail-fast'), limits: { environmentTimeoutSeconds: 1 } };
    const failure = await failureOf(await runs.start('hangs', hanging));

    expect(failure.message).toMatch(/^Rollout 2 of group .* \(environment_timeout\): no answer within 1 s/);
    expect((await stack.store.readState('hangs'))?.status).toBe('failed');
  },
  LIMIT_MS,
);

test(
  'refuses a KL reference that the training service does not have, before there is a run',
  async () => {
    const checkpoint = 'tinker://nosuch:train:0/sampler_weights/zzz';
    const failure = await failureOf(
      await runs.start('no-reference', runs.config({ klPenaltyCoef: 0.1, klReference: { checkpoint } })),
    );

    expect(failure.code).toBe('checkpoint-missing');
    expect(failure.message).toMatch(/^klReference\.checkpoint: .*does not have that checkpoint/);
    expect(await stack.store.readState('no-reference')).toBeNull();
  },
  LIMIT_MS,
);

test(
  'ends a run whose weights to sample from are gone each time they are saved',
  async () => {
    const asked = new Set<string>();
    const engine = await ForgetfulEngine.start(stack.engine.url, (path) => Boolean(asked.add(path)));
    try {
      const failure = await failureOf(
        await runs.start('fading', runs.config({ evalEvery: 0, engine: { url: engine.url } })),
      );

      expect(failure.code).toBe('request-failed');
      expect(failure.message).toMatch(
        /^The weights to sample from were gone 5 times in a row, .* not found.* start the run again\.$/,
      );
      expect(asked.size).toBe(5);
      expect(await stack.store.readState('fading')).toMatchObject({ status: 'failed', step: 0 });
    } finally {
      await engine.close();
    }
  },
  LIMIT_MS,
);

test(
  'ends a run whose KL reference goes away while it trains, naming it',
  async () => {
    await runs.train('reference', runs.config({ steps: 2, evalEvery: 0 }));
    const checkpoint = (await stack.store.readCheckpoints('reference')).at(-1)?.sampler_path ?? '';
    let isGone = false;
    const engine = await ForgetfulEngine.start(stack.engine.url, (path) => isGone && path === checkpoint);
    try {
      const config = { evalEvery: 0, klPenaltyCoef: 0.1, klReference: { checkpoint } };
      const handle = await runs.start(
        'bereft',
        runs.config({ ...config, steps: 40, engine: { url: engine.url } }),
      );
      await untilStatus(handle, ({ step }) => step >= 2);
      isGone = true;
      const failure = await failureOf(handle);

      expect(failure.message).toMatch(
        /^klReference: .* does not have that checkpoint .* choose another one\.$/,
      );
      expect(await stack.store.readState('bereft')).toMatchObject({ status: 'failed' });
    } finally {
      await engine.close();
    }
  },
  LIMIT_MS,
);

test(
  'refuses tools that the model’s prompt format has not, before there is a run',
  async () => {
    const [corpus, questions] = ['corpus.jsonl', 'questions.jsonl'].map((name) => join(stack.folder, name));
    writeFileSync(corpus ?? '', '{"title":"Brusk","text":"Brusk is a harbour."}\n');
    writeFileSync(questions ?? '', '{"question":"What is Brusk?","answer":"a harbour"}\n');
    const environment = { type: 'search', corpus, questions, testSize: 0 };

    const config = runs.config({ environment, renderer: 'role_colon', evalEvery: 0 });
    const failure = await failureOf(await runs.start('no-tools', config));

    expect(failure.code).toBe('bad-config');
    expect(failure.message).toMatch(
      /^environment: search gives the model tools .* Use a model whose prompt format has them/,
    );
    expect(await stack.store.readState('no-tools')).toBeNull();
  },
  LIMIT_MS,
);

test(
  'starts failed rollouts again and counts them',
  async () => {
    await runs.train('again', config('shaky', 'retry'));

    const metrics = await stack.store.readMetrics('again');
    expect(metrics.map((row) => row['env/all/total_episodes'])).toEqual([16, 16]);
    expect(metrics.map((row) => row['rollout_errors/environment_error'])).toEqual([4, 4]);
  },
  LIMIT_MS,
);

test(
  'trains on the rest of a group where enough is left of it',
  async () => {
    await runs.train('smaller', config('broken', { type: 'min-viable', minSuccessful: 3 }));

    const metrics = await stack.store.readMetrics('smaller');
    expect(metrics.map((row) => row['env/all/total_episodes'])).toEqual([12, 12]);
  },
  LIMIT_MS,
);

test(
  'completes without an update where every group is given up',
  async () => {
    const report = await runs.train('nothing', config('broken', { type: 'retry', maxRetries: 1 }));

    const metrics = await stack.store.readMetrics('nothing');
    expect(report).toMatchObject({ status: 'completed', step: 2 });
    expect(metrics.map((row) => row['rollout_errors/groups_skipped'])).toEqual([4, 4]);
    expect(metrics.map((row) => row['optim/updates'])).toEqual([0, 0]);
  },
  LIMIT_MS,
);

test(
  'ends as an undisturbed run when its model is let go of in a pause, and its weights to sample from are gone',
  async () => {
    await runs.train('steady', runs.config({ evalEvery: 0 }));

    const handle = await runs.start('paused', runs.config({ evalEvery: 0 }), { holdSeconds: 0 });
    const by = { by: 'test', reason: 'to see' };
    await until(async () => ((await stack.store.readLastMetrics('paused'))?.step ?? 0) >= 1 || null);
    await handle.executeUpdate(pauseUpdate, {
      args: [{ ...by, atStep: null, seconds: null, then: 'resume' }],
    });
    const { step } = await untilStatus(handle, ({ status }) => status === 'paused');
    await until(async () =>
      (await stack.store.readCheckpoints('paused')).some(({ name }) => name.endsWith('-held')) ? true : null,
    );
    const model = (await stack.modelOf('paused')) ?? '';
    const name = String(step).padStart(6, '0');
    for (const path of (await stack.samplerPaths(model)).filter((each) => each.endsWith(`/${name}`)))
      await deleteSaved(path);
    await handle.executeUpdate(resumeUpdate, { args: [by] });
    await reportOf(handle);

    expect(await runs.outcome('paused')).toEqual(await runs.outcome('steady'));
    expect((await handle.query(controlsQuery)).length).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

async function deleteSaved(path: string): Promise<void> {
  const [, model = '', name = ''] = /^tinker:\/\/([^/]+)\/(.+)$/.exec(path) ?? [];
  const url = `${stack.engine.url}/api/v1/training_runs/${model}/checkpoints/${name}`;
  expect((await fetch(url, { method: 'DELETE' })).ok).toBe(true);
}
