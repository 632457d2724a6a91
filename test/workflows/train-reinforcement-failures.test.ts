import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { failuresOf, RunRollouts } from '../../src/client/run-rollouts';
import { Everstep } from '../../src/client/everstep';
import { controlsQuery, pauseUpdate, resumeUpdate } from '../../src/workflows/contracts';
import { ForgetfulEngine } from './harness/forgetful-engine';
import { HeldTraining } from './harness/held-training';
import { PythonStandIn } from './harness/python-stand-in';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

let training: HeldTraining;
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
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new ReinforcementRuns(stack);
  plugins = join(stack.folder, 'everstep.config.js');
  writeFileSync(plugins, SOURCE);
  await stack.startWorkers();
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
});

function config(environment: string, rolloutErrorTolerance: unknown) {
  return runs.config({
    ...{ steps: 2, evalEvery: 0, plugins, rolloutErrorTolerance },
    environment: { type: 'plugin', environment, testSize: 0 },
  });
}

test('fails the run with the rollout and the remedy where no failure is tolerated', async () => {
  const failure = await failureOf(await runs.start('strict', config('broken', 'fail-fast')));

  expect(failure.code).toBe('request-failed');
  expect(failure.message).toMatch(
    /^Rollout 2 of group \d of step 1, of problem "\S+", failed \(environment_error\): the simulator is broken \(thrown at .*everstep\.config\.js:\d+:\d+\)\. Repair it, .*rolloutErrorTolerance/,
  );
  expect(await stack.store.readState('strict')).toMatchObject({ status: 'failed', step: 0 });
});

test('fails the run with the rollout where an environment hangs and no failure is tolerated', async () => {
  const hanging = { ...config('hanging', 'fail-fast'), limits: { environmentTimeoutSeconds: 1 } };
  const failure = await failureOf(await runs.start('hangs', hanging));

  expect(failure.message).toMatch(/^Rollout 2 of group .* \(environment_timeout\): no answer within 1 s/);
  expect((await stack.store.readState('hangs'))?.status).toBe('failed');
});

test('refuses a KL reference that the training service does not have, before there is a run', async () => {
  const checkpoint = 'tinker://nosuch:train:0/sampler_weights/zzz';
  const failure = await failureOf(
    await runs.start('no-reference', runs.config({ klPenaltyCoef: 0.1, klReference: { checkpoint } })),
  );

  expect(failure.code).toBe('checkpoint-missing');
  expect(failure.message).toMatch(/^klReference\.checkpoint: .*does not have that checkpoint/);
  expect(await stack.store.readState('no-reference')).toBeNull();
});

test('ends a run whose weights to sample from are gone each time they are saved', async () => {
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
});

test('refuses tools that the model’s prompt format has not, before there is a run', async () => {
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
});

test('starts failed rollouts again and counts them', async () => {
  await runs.train('again', config('shaky', 'retry'));

  const metrics = await stack.store.readMetrics('again');
  expect(metrics.map((row) => row['env/all/total_episodes'])).toEqual([16, 16]);
  expect(metrics.map((row) => row['rollout_errors/environment_error'])).toEqual([4, 4]);
});

test('says at its end what failed, and of each group with what', async () => {
  await runs.train('told', config('shaky', 'retry'));

  expect((await stack.store.readState('told'))?.remarks).toContain(
    '8 attempts at rollouts failed (environment_error 8). `everstep runs rollouts told --step 2` says with what.',
  );
  const groups = await new RunRollouts('told', stack.store).read(2);
  const broken = /^environment_error: the simulator is broken \(thrown at .*everstep\.config\.js:\d+:\d+\)$/;
  expect(groups).toHaveLength(4);
  for (const group of groups) expect(failuresOf(group)).toEqual([expect.stringMatching(broken)]);
});

test('trains on the rest of a group where enough is left of it', async () => {
  await runs.train('smaller', config('broken', { type: 'min-viable', minSuccessful: 3 }));

  const metrics = await stack.store.readMetrics('smaller');
  expect(metrics.map((row) => row['env/all/total_episodes'])).toEqual([12, 12]);
});

test('completes without an update where every group is given up', async () => {
  const report = await runs.train('nothing', config('broken', { type: 'retry', maxRetries: 1 }));

  const metrics = await stack.store.readMetrics('nothing');
  expect(report).toMatchObject({ status: 'completed', step: 2 });
  expect(metrics.map((row) => row['rollout_errors/groups_skipped'])).toEqual([4, 4]);
  expect(metrics.map((row) => row['optim/updates'])).toEqual([0, 0]);
});

test('ends as an undisturbed run when its model is let go of in a pause, and its weights to sample from are gone', async () => {
  const given = runs.config({ steps: 4, evalEvery: 0 });
  const steady = await runs.start('steady', given);
  await reportOf(steady);

  const update = training.holdNext(1);
  const handle = await runs.start('paused', given, { holdSeconds: 0 });
  const by = { by: 'test', reason: 'to see' };
  await update.held();
  const asked = handle.executeUpdate(pauseUpdate, {
    args: [{ ...by, atStep: null, seconds: null, then: 'resume' }],
  });
  update.letGo();
  await asked;
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
});

test('ends a run whose KL reference goes away while it trains, naming it', async () => {
  const checkpoint = (await stack.store.readCheckpoints('steady')).at(-1)?.sampler_path ?? '';
  let isGone = false;
  const engine = await ForgetfulEngine.start(stack.engine.url, (path) => isGone && path === checkpoint);
  const update = training.holdNext(1);
  try {
    const given = { evalEvery: 0, klPenaltyCoef: 0.1, klReference: { checkpoint } };
    const handle = await runs.start('bereft', runs.config({ ...given, engine: { url: engine.url } }));
    await update.held();
    isGone = true;
    update.letGo();
    const failure = await failureOf(handle);

    expect(failure.message).toMatch(
      /^klReference: .* does not have that checkpoint .* choose another one\.$/,
    );
    expect(await stack.store.readState('bereft')).toMatchObject({ status: 'failed' });
  } finally {
    await engine.close();
  }
});

async function deleteSaved(path: string): Promise<void> {
  const [, model = '', name = ''] = /^tinker:\/\/([^/]+)\/(.+)$/.exec(path) ?? [];
  const url = `${stack.engine.url}/api/v1/training_runs/${model}/checkpoints/${name}`;
  expect((await fetch(url, { method: 'DELETE' })).ok).toBe(true);
}

describe('an environment of a Python worker', () => {
  const environment = { type: 'python', environment: 'digits', testSize: 2 };

  test('is trained on and measured, and named where no worker has it', async () => {
    const python = await PythonStandIn.start(stack);
    const [, failure] = await Promise.all([
      runs.train('digits', runs.config({ environment, steps: 2, evalEvery: 2 })),
      failureOf(
        await runs.start('nobody', runs.config({ environment: { ...environment, environment: 'none' } })),
      ),
    ]);
    await python.stop();

    const keys = (await stack.store.readScores('digits')).map(({ step, key }) => `${step} ${key}`);
    expect(keys).toEqual(expect.arrayContaining(['0 test/env/all/correct', '2 test/env/all/correct']));
    expect(failure.message).toContain('has no environment "none". It has: digits.');
  });

  test('is waited for, and the run says so', async () => {
    const everstep = await Everstep.connect({
      ...{ address: stack.address, namespace: stack.namespace },
      ...{ store: join(stack.folder, 'store'), dataFolder: stack.folder },
    });
    const python = await PythonStandIn.start(stack);
    const update = training.holdNext(0);
    const handle = await runs.start('waiting', runs.config({ environment, steps: 3, evalEvery: 0 }));
    await update.held();
    await python.stop();
    update.letGo();
    const said = await until(async () => {
      const { waits = [] } = await everstep.run('waiting').status();
      return waits.find((wait) => wait.startsWith('rollouts wait')) ?? null;
    });
    const again = await PythonStandIn.start(stack);
    const report = await reportOf(handle);
    await Promise.all([again.stop(), everstep.close()]);

    // For any Python worker, or for the one that is gone, as long as it counts as polling.
    expect(said).toMatch(
      /^rollouts wait: (No Python worker polls everstep-python|The Python workers that poll )/,
    );
    expect(report.status).toBe('completed');
  });
});
