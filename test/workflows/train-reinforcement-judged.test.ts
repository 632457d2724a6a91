import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import type { Judgement } from '../../src/evaluation/judges/judgements';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf, until, untilStatus, writeSums } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

const KEY = 'the-key-of-the-judge';
const ROLLOUTS_A_STEP = 16;

let stack: TestStack;
let runs: ReinforcementRuns;
let endpoint: JudgeEndpoint;
let path: string;

/** A rating that depends on what is asked alone; the picky judge refuses some answers. */
function say(model: string, prompt: string): string | null {
  const number = Array.from(prompt).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7);
  if (model === 'picky' && number % 4 === 0) return null;
  if (model === 'choosy') return ['[[A]]', '[[B]]', '[[C]]'][number % 3] ?? null;
  return `Rating: [[${1 + (number % 10)}]]`;
}

/** The key stands where workers read it, in processes of their own and in this one. */
beforeAll(async () => {
  process.env['EVERSTEP_JUDGE_API_KEY'] = KEY;
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
  endpoint = await JudgeEndpoint.start(say);
  path = writeSums(stack.folder).train;
  process.env['EVERSTEP_KEY_ADDRESSES'] = endpoint.url;
  await stack.startWorkers({}, { judgeApiKey: KEY, keyAddresses: [endpoint.url] });
});

afterAll(async () => {
  await endpoint.close();
  await stack.stop();
  delete process.env['EVERSTEP_JUDGE_API_KEY'];
  delete process.env['EVERSTEP_KEY_ADDRESSES'];
});

function config(judge: string | object, more: object = {}) {
  const place = typeof judge === 'string' ? { model: judge, endpoint: endpoint.url } : judge;
  const environment = { type: 'modelGraded', method: 'score', dataset: { path }, judge: place, testSize: 8 };
  return runs.config({ steps: 2, saveEvery: 1, evalEvery: 2, environment, ...more });
}

/** All files below a run's folder that a name matches. */
function filesOf(run: string, pattern: RegExp): string[] {
  const folder = stack.store.runFolder(run);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((file) => pattern.test(file));
}

function judgementsOf(run: string): Judgement[] {
  return filesOf(run, /\d\.judgements\.jsonl$/).flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Judgement);
  });
}

interface Outcome {
  readonly rollouts: Readonly<Record<string, string>>;
}

/** What a run leaves, but for how long its judges thought. */
async function outcome(run: string): Promise<Outcome> {
  const { rollouts, ...others } = (await runs.outcome(run)) as Outcome;
  const groups = Object.entries(rollouts).filter(([name]) => !name.endsWith('judgements.jsonl'));
  return { ...others, rollouts: Object.fromEntries(groups) };
}

interface Calm {
  readonly outcome: Outcome;
  readonly requestCount: number;
}

let calm: Promise<Calm> | null = null;

/** What an undisturbed run leaves and costs. */
function calmRun(): Promise<Calm> {
  calm ??= trainCalmly();
  return calm;
}

async function trainCalmly(): Promise<Calm> {
  await runs.train('calm', config('calm'));
  return { outcome: await outcome('calm'), requestCount: endpoint.countOf('calm') };
}

test('trains on what a judge says and measures held-out answers with it, asking it nothing twice', async () => {
  const { requestCount } = await calmRun();

  const metrics = await stack.store.readMetrics('calm');
  const scores = await stack.store.readScores('calm');
  const judgements = judgementsOf('calm');
  expect(metrics.map((row) => row['env/all/total_episodes'])).toEqual([16, 16]);
  for (const row of metrics) {
    expect(row['env/all/unparsed']).toBe(0);
    expect(row['env/all/rating']).toBeCloseTo(1 + 9 * (row['env/all/score'] ?? 0), 6);
  }
  expect(new Set(metrics.map((row) => row['env/all/score'])).size).toBeGreaterThan(1);
  expect(scores.filter(({ key }) => key === 'test/env/all/score').map(({ n }) => n)).toEqual([8, 8]);
  expect(requestCount).toBeGreaterThan(ROLLOUTS_A_STEP);
  expect(endpoint.repeatedTo('calm')).toBe(0);
  expect(new Set(judgements.map(({ key }) => key)).size).toBe(requestCount);
  expect(judgements[0]).toMatchObject({ judge: 'calm', stage: 'rating' });
  expect(filesOf('calm', /\.paid/)).toEqual([]);
});

test('a worker that is killed while its judge thinks has no answer sampled again and no judgement made twice', async () => {
  const { outcome: expected } = await calmRun();
  await stack.stopWorkers();
  const before = await runs.tokensSampled();
  endpoint.held.add('slow');

  const worker = WorkerProcess.start(stack);
  const handle = await runs.start('killed', config('slow', { evalEvery: 0 }));
  const kept = (kind: string) => filesOf('killed', new RegExp(`\\.paid/${kind}-`)).length;
  try {
    await until(() => (kept('sample') === ROLLOUTS_A_STEP && endpoint.countOf('slow') > 1 ? true : null));
    endpoint.answerOne('slow');
    await until(() => (kept('judgement') > 0 ? true : null));
  } finally {
    await worker.kill();
  }
  const unheard = endpoint.countOf('slow') - 1;
  endpoint.letGo('slow');
  await stack.startWorkers({}, { judgeApiKey: KEY, keyAddresses: [endpoint.url] });
  await reportOf(handle);

  expect((await outcome('killed')).rollouts).toEqual(expected.rollouts);
  expect((await runs.tokensSampled()) - before).toBe(runs.tokensJournalled('killed'));
  expect(endpoint.repeatedTo('slow')).toBe(unheard);
  expect(filesOf('killed', /\.paid/)).toEqual([]);
});

test('a judge that refuses an answer costs its rollout alone', async () => {
  const more = { steps: 1, evalEvery: 0, rolloutErrorTolerance: { type: 'min-viable', minSuccessful: 1 } };
  await runs.train('picky', config('picky', more));

  const [row] = await stack.store.readMetrics('picky');
  const failed = row?.['rollout_errors/judge_error'] ?? 0;
  expect(failed).toBeGreaterThan(0);
  expect(row?.['env/all/total_episodes']).toBe(ROLLOUTS_A_STEP - failed);
});

test('a judge that refuses an answer ends a run that tolerates no failure, with its name and the remedy', async () => {
  const failure = await failureOf(await runs.start('strict', config('picky', { evalEvery: 0 })));

  expect(failure.message).toMatch(/\(judge_error\): judge picky: .*cannot judge this/);
  expect(failure.message).toContain('rolloutErrorTolerance');
});

describe('a judge that gives nothing but failures is waited for, and the run says for whom and why', () => {
  let everstep: Everstep;

  beforeAll(async () => {
    everstep = await Everstep.connect({
      ...{ address: stack.address, namespace: stack.namespace },
      ...{ store: join(stack.folder, 'store'), dataFolder: stack.folder },
    });
  });

  afterAll(() => everstep.close());

  function waitOf(run: string, kind: string): Promise<string> {
    return until(async () => {
      const { waits = [] } = await everstep.run(run).status();
      return waits.find((wait) => wait.startsWith(kind)) ?? null;
    });
  }

  test('where it went away', async () => {
    const leaving = await JudgeEndpoint.start(say);
    const port = Number(new URL(leaving.url).port);
    leaving.held.add('leaving');
    const judge = { model: 'leaving', endpoint: leaving.url };

    const handle = await runs.start('leaves', config(judge, { steps: 1, evalEvery: 0 }));
    await until(() => (leaving.countOf('leaving') > 0 ? true : null));
    await leaving.close();
    const wait = await waitOf('leaves', 'rollouts wait');
    const back = await JudgeEndpoint.start(say, port);
    const report = await reportOf(handle);
    await back.close();

    expect(wait).toContain(`judge leaving: the endpoint at http://127.0.0.1:${port}`);
    expect(report).toMatchObject({ status: 'completed', step: 1 });
    expect(back.repeatedTo('leaving')).toBe(0);
  });

  test('where it answers with errors alone, in rewards and in evaluations', async () => {
    // One that fails from the start is refused with the run.
    endpoint.held.add('failing');
    const handle = await runs.start('failing', config('failing', { steps: 1, evalEvery: 1 }));
    await until(() => (filesOf('failing', /\.paid\/sample-/).length > 0 ? true : null));
    endpoint.failing.add('failing');
    endpoint.letGo('failing');
    const waits = await Promise.all([
      waitOf('failing', 'rollouts wait'),
      waitOf('failing', 'an evaluation waits'),
    ]);
    endpoint.failing.delete('failing');
    const report = await reportOf(handle);

    for (const wait of waits)
      expect(wait).toMatch(
        /: judge failing: the endpoint at http:\S+ gives nothing but failures \(500: out of memory\)/,
      );
    expect(report).toMatchObject({ status: 'completed', step: 1 });
  });
});

test('a judge that takes the key no more is waited for, and no completion is drawn again', async () => {
  const before = await runs.tokensSampled();
  endpoint.held.add('revoked');

  const handle = await runs.start('revoked', config('revoked', { steps: 1, evalEvery: 0 }));
  await until(() => (endpoint.countOf('revoked') > 0 ? true : null));
  endpoint.locked.add('revoked');
  endpoint.letGo('revoked');
  const { waitingFor } = await untilStatus(handle, ({ status }) => status === 'waiting');
  endpoint.locked.delete('revoked');
  const report = await reportOf(handle);

  expect(waitingFor?.what).toMatch(/^A judge refuses to answer: .*this key was revoked/);
  expect(report).toMatchObject({ status: 'completed', step: 1 });
  expect((await runs.tokensSampled()) - before).toBe(runs.tokensJournalled('revoked'));
});

test('answers earn how often a judge prefers them to the targets, shown in both orders', async () => {
  const judge = { model: 'choosy', endpoint: endpoint.url };
  const environment = { type: 'comparison', dataset: { path }, judge, testSize: 8 };

  await runs.train('compared', runs.config({ steps: 1, evalEvery: 1, environment }));

  const [metrics, scores] = await Promise.all([
    stack.store.readMetrics('compared'),
    stack.store.readScores('compared'),
  ]);
  for (const row of metrics) {
    // What has no end costs 0.1 (`formatPenalty`).
    const penalty = 0.1 * (1 - (row['env/all/format'] ?? NaN));
    expect(row['env/all/reward/total']).toBeCloseTo((row['env/all/win_rate'] ?? NaN) - penalty, 9);
  }
  expect(scores.filter(({ key }) => key === 'test/env/all/win_rate').map(({ n }) => n)).toEqual([8, 8]);
  const orders = new Set(judgementsOf('compared').map(({ stage }) => stage));
  expect(orders.size).toBe(2);
});

test('the base model and a checkpoint judge too; what cannot be read earns nothing and is counted', async () => {
  await calmRun();
  const graded = (judge: object | string) => ({
    environment: {
      ...{ type: 'modelGraded', method: 'qa', dataset: { path }, judge, testSize: 0 },
      ...{ template: '{answer}', formatPenalty: 0 },
    },
    ...{ steps: 1, evalEvery: 0 },
  });

  await Promise.all([
    runs.train('by-base', runs.config(graded('base'))),
    runs.train('by-checkpoint', runs.config(graded({ checkpoint: 'calm@2', maxTokens: 8 }))),
  ]);

  for (const run of ['by-base', 'by-checkpoint']) {
    const [row] = await stack.store.readMetrics(run);
    expect(row).toMatchObject({ 'env/all/unparsed': 1, 'env/all/reward/total': 0 });
  }
  expect(judgementsOf('by-base')[0]).toMatchObject({ judge: 'everstep/tiny', stage: 'grade' });
});

test.each([
  [
    'nobody listens',
    { model: 'gone', endpoint: 'http://127.0.0.1:9/v1' },
    /judge gone: .*127\.0\.0\.1:9.*Check that it is up/,
  ],
  [
    'a run has no such checkpoint',
    { checkpoint: 'calm@77' },
    /checkpoint "calm@77" has no sampler weights.*: .*2/,
  ],
  ['a checkpoint has no step', { checkpoint: 'calm' }, /"calm" has no step.*Give calm@2/],
  [
    'weights are not there',
    { model: 'everstep/tiny', checkpoint: 'tinker://none/sampler_weights/1' },
    /^judge everstep\/tiny: /,
  ],
])(
  'a judge where %s refuses the run before anything is sampled, with the remedy',
  async (what, judge, message) => {
    await calmRun();
    const before = await runs.tokensSampled();

    const failure = await failureOf(await runs.start(`refused-${what.length}`, config(judge)));

    expect(failure.message).toMatch(message);
    expect(await runs.tokensSampled()).toBe(before);
  },
);

test('the key of the judge is in no file of the store', () => {
  expect(new Set(endpoint.asked.map(({ key }) => key))).toContain(`Bearer ${KEY}`);
  const files = readdirSync(stack.folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const holding = files.filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(KEY));
  expect(holding.map(({ name }) => name)).toEqual([]);
});
