import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connected } from './harness/connected';
import { connect, disconnect } from './harness/connected';
import { reportOf, until, untilCell, untilStatus } from './harness/runs';

let at: Connected;
let { stack, runs, plugins, everstep } = {} as Connected;

beforeAll(async () => {
  at = await connect();
  ({ stack, runs, plugins, everstep } = at);
});

afterAll(() => disconnect(at));

/** An evaluator that says of each step what a story wants it to say. */
function said(name: string, values: Readonly<Record<number, number | 'fails' | 'waits'>>) {
  writeFileSync(join(stack.folder, `said-${name}.json`), JSON.stringify(values));
  return { type: 'plugin', name: 'said', evaluator: 'said', options: { name } };
}

interface Gated {
  readonly gate: object;
  readonly values: Readonly<Record<number, number | 'fails' | 'waits'>>;
  readonly mode?: 'background' | 'blocking';
  readonly more?: object;
}

function gatedRun(name: string, { gate, values, mode = 'blocking', more = {} }: Gated) {
  return runs.config({
    steps: 10,
    batchSize: 4,
    saveEvery: 5,
    plugins: plugins.file,
    schedules: [
      {
        name: 'quality',
        every: { steps: 2 },
        mode,
        evaluators: [said(name, values)],
        gate: { metric: 'test/said/quality', higherIsBetter: true, on: 'value', ...gate },
      },
    ],
    ...more,
  });
}

const controlsOf = async (run: string) =>
  (await stack.store.readControls(run)).map(({ by, control, step, from, to }) => ({
    by,
    control,
    step,
    from,
    to,
  }));

test('what passes and is better is promoted, although it is no step of the saves; what is not is held', async () => {
  const values = { 0: 0.1, 2: 0.5, 4: 0.4, 6: 0.7, 8: 'fails' as const, 10: 0.2 };
  const gate = { rule: { atLeast: 0.3 } };

  await reportOf(await runs.start('prized', gatedRun('prized', { gate, values, mode: 'background' })));

  expect(await controlsOf('prized')).toEqual([
    { by: 'gate', control: 'promote', step: 2, from: null, to: 2 },
    { by: 'gate', control: 'gate', step: 4, from: null, to: 'passed, not better than step 2' },
    { by: 'gate', control: 'promote', step: 6, from: 2, to: 6 },
    { by: 'gate', control: 'gate', step: 8, from: null, to: 'undecided, held' },
    { by: 'gate', control: 'gate', step: 10, from: null, to: 'held' },
  ]);
  const best = await everstep.run('prized').best();
  const row = (await stack.store.readCheckpoints('prized')).find(({ step }) => step === 6);
  expect(row?.sampler_path).toMatch(/000006$/);
  expect(best).toMatchObject({ step: 6, by: 'gate', sampler_path: row?.sampler_path });
  const reasons = (await stack.store.readControls('prized')).map(({ reason }) => reason);
  expect(reasons[3]).toBe('there is no score test/said/quality (gate of "quality")');
  expect(reasons[4]).toBe('test/said/quality 0.2 is not at least 0.3 (gate of "quality")');
  const timeline = (await everstep.run('prized').timeline()).map(({ kind, text }) => `${kind} ${text}`);
  expect(timeline).toContainEqual(
    expect.stringMatching(/^gate step 10 held: test\/said\/quality 0.2 is not/),
  );
});

test('a first checkpoint that is only as good as the base is not promoted', async () => {
  const values = { 0: 0.5, 2: 0.5, 4: 0.5, 6: 0.7, 8: 0.7, 10: 0.6 };
  const gate = { rule: { notWorseThanBest: 0.95 } };

  await reportOf(await runs.start('modest', gatedRun('modest', { gate, values, mode: 'background' })));

  expect(await controlsOf('modest')).toEqual([
    { by: 'gate', control: 'gate', step: 2, from: null, to: 'passed, not better than step 0' },
    { by: 'gate', control: 'gate', step: 4, from: null, to: 'passed, not better than step 0' },
    { by: 'gate', control: 'promote', step: 6, from: null, to: 6 },
    { by: 'gate', control: 'gate', step: 8, from: null, to: 'passed, not better than step 6' },
    expect.objectContaining({ control: 'gate', step: 10 }),
  ]);
});

test('a gate lowers the learning rate from the next step on, the same whatever dies meanwhile', async () => {
  const values = { 0: 0.5, 2: 0.6, 4: 0.4, 6: 0.3, 8: 0.7, 10: 0.7 };
  const gate = { rule: { notWorseThanBest: 0.95 }, otherwise: { learningRate: 0.5 } };
  const calm = gatedRun('calm', { gate, values });
  await reportOf(await runs.start('calm', calm));

  writeFileSync(join(stack.folder, 'said-rough.json'), '{}');
  const rough = gatedRun('rough', { gate, values });
  const file = join(stack.folder, 'said-rough.json');
  const known = readFileSync(file, 'utf8');
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(known) as object), 4: 'waits' }));
  const handle = await runs.start('rough', rough, { maxHistoryEvents: 60 });
  await untilCell(handle, ({ step, status }) => step === 4 && status === 'running');
  await stack.stopWorkers();
  await stack.restartEngine();
  writeFileSync(file, known);
  await stack.startWorkers();
  await reportOf(handle);

  expect(await controlsOf('rough')).toEqual([
    { by: 'gate', control: 'promote', step: 2, from: null, to: 2 },
    { by: 'gate', control: 'setLearningRate', step: 5, from: 1e-3, to: 5e-4 },
    { by: 'gate', control: 'setLearningRate', step: 7, from: 5e-4, to: 2.5e-4 },
    { by: 'gate', control: 'promote', step: 8, from: 2, to: 8 },
    { by: 'gate', control: 'gate', step: 10, from: null, to: 'passed, not better than step 8' },
  ]);
  expect(await controlsOf('calm')).toEqual(await controlsOf('rough'));
  expect(await runs.outcome('rough')).toEqual(await runs.outcome('calm'));
  expect((await stack.store.readState('rough'))?.rewinds).toBeGreaterThan(0);
});

test('a gate ends a run early: one more step is trained, saved and evaluated', async () => {
  const values = { 0: 0.5, 2: 0.6, 4: 0.1, 5: 0.1 };
  const gate = { rule: { improvesOnBase: 0.95 }, otherwise: 'stop' };

  const report = await reportOf(await runs.start('ended', gatedRun('ended', { gate, values })));

  expect(report).toMatchObject({ status: 'stopped', step: 5 });
  expect(await controlsOf('ended')).toEqual([
    { by: 'gate', control: 'promote', step: 2, from: null, to: 2 },
    { by: 'gate', control: 'stop', step: 5, from: 10, to: 5 },
    { by: 'gate', control: 'gate', step: 5, from: null, to: 'held' },
  ]);
  expect((await stack.store.readState('ended'))?.reason).toMatch(
    /^test\/said\/quality 0.1 does not improve on 0.5 of the base model/,
  );
});

test('a gate has the run wait for a person, and an evaluator that fails does nothing but hold', async () => {
  const values = { 0: 0.5, 2: 'fails' as const, 4: 0.1, 6: 0.9, 8: 0.9, 10: 0.9 };
  const gate = { rule: { atLeast: 0.4 }, otherwise: 'pause' };
  const handle = await runs.start('asked', gatedRun('asked', { gate, values }));

  const paused = await untilStatus(handle, ({ status }) => status === 'paused');
  await everstep.run('asked').resume({ by: 'someone' });
  await reportOf(handle);

  expect(paused).toMatchObject({ step: 4, pause: { by: 'gate', step: 4 } });
  expect(await controlsOf('asked')).toMatchObject([
    { control: 'gate', step: 2, to: 'undecided, held' },
    { by: 'gate', control: 'pause', step: 4 },
    { by: 'someone', control: 'resume', step: 5 },
    { control: 'promote', step: 6 },
    { control: 'gate', step: 8, to: 'passed, not better than step 6' },
    { control: 'gate', step: 10, to: 'passed, not better than step 6' },
  ]);
});

test('a gate does not undo what a person promoted: it compares with it, once that is measured', async () => {
  const values: Record<number, number | 'waits'> = {
    0: 0.1,
    2: 0.5,
    4: 0.4,
    5: 0.8,
    6: 'waits',
    8: 'waits',
    10: 0.9,
  };
  const say = () => {
    writeFileSync(join(stack.folder, 'said-kept.json'), JSON.stringify(values));
  };
  const config = gatedRun('kept', { gate: { rule: { atLeast: 0.3 } }, values: {} });
  say();
  const handle = await runs.start('kept', config);
  const run = everstep.run('kept');
  await untilCell(handle, ({ step, status }) => step === 6 && status === 'running');

  await run.promote(5, { by: 'someone' });
  values[6] = 0.9;
  say();
  await untilCell(handle, ({ step, status }) => step === 8 && status === 'running');
  await run.runEvaluation({ checkpoint: 5, evaluators: ['said'], by: 'someone' });
  await untilCell(handle, ({ step, status }) => step === 5 && status === 'done');
  values[8] = 0.7;
  say();
  await reportOf(handle);

  expect(await controlsOf('kept')).toMatchObject([
    { by: 'gate', control: 'promote', step: 2 },
    { by: 'gate', control: 'gate', step: 4 },
    { by: 'someone', control: 'promote', step: 5, from: 2, to: 5 },
    {
      ...{ by: 'gate', control: 'gate', step: 6 },
      to: 'passed, not promoted: step 5, which was promoted, has no test/said/quality to compare with: `everstep runs eval kept@5 --evaluator said` measures it',
    },
    { by: 'someone', control: 'runEvaluation', step: 5 },
    { by: 'gate', control: 'gate', step: 8, to: 'passed, not better than step 5' },
    { by: 'gate', control: 'promote', step: 10, from: 5, to: 10 },
  ]);
});

test('checkpoints are compared on the examples of both', async () => {
  const sums = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 8 };
  const gate = { metric: 'test/arithmetic/accuracy', rule: { notWorseThanBest: 0.95 } };
  const schedules = [{ name: 'sums', at: [3, 6], evaluators: [sums], gate }];
  await reportOf(await runs.start('paired', runs.config({ steps: 8, batchSize: 4, schedules })));

  const rows = await stack.store.readControls('paired');

  expect(rows.map(({ step }) => step)).toEqual([3, 6, 8]);
  expect(rows.every(({ by }) => by === 'gate')).toBe(true);
  expect(rows[0]?.reason).toMatch(
    /^test\/arithmetic\/accuracy [\d.]+ \[.*\] is not worse than [\d.]+ of step 0/,
  );
});

test('a schedule that is due too soon waits, is left out, or ends the older one, and says so', async () => {
  const slow = (name: string) => ({
    type: 'plugin',
    name,
    evaluator: 'gated',
    options: { gate: name },
  });
  const schedule = (overlap: string) => ({
    name: overlap,
    every: { steps: 2 },
    overlap,
    evaluators: [slow(`slow-${overlap}`)],
  });
  const fast = {
    ...schedule('queue'),
    name: 'fast',
    evaluators: [{ ...slow('fast'), options: { gate: 'fast' } }],
  };
  const schedules = [schedule('queue'), schedule('skip'), schedule('cancel-older'), fast];
  plugins.open('fast');
  const handle = await runs.start(
    'busy',
    runs.config({ steps: 8, batchSize: 4, plugins: plugins.file, schedules }),
    { maxHistoryEvents: 50 },
  );
  await untilStatus(handle, ({ step, pendingEvaluations }) => step === 8 && pendingEvaluations > 0);
  const fastDone = await until(async () => {
    const cells = (await everstep.run('busy').evaluations()).filter(({ evaluator }) => evaluator === 'fast');
    return cells.length === 5 && cells.every(({ status }) => status === 'done') ? cells : null;
  });
  expect(fastDone.map(({ step }) => step)).toEqual([0, 2, 4, 6, 8]);
  // One that answers before it hears that it was called off has its score.
  await until(async () => {
    const { length } = (await everstep.run('busy').evaluations()).filter(
      ({ status }) => status === 'cancelled',
    );
    return length === 3 ? length : null;
  });
  plugins.open('slow-queue');
  plugins.open('slow-skip');
  plugins.open('slow-cancel-older');
  await reportOf(handle);

  const cells = await everstep.run('busy').evaluations();
  const statusOf = (evaluator: string) =>
    cells.filter((cell) => cell.evaluator === evaluator).map(({ step, status }) => `${step} ${status}`);
  expect(statusOf('slow-queue')).toEqual(['0 done', '2 done', '4 done', '6 done', '8 done']);
  expect(statusOf('slow-skip')).toEqual(['0 done', '2 skipped', '4 skipped', '6 skipped', '8 done']);
  expect(statusOf('slow-cancel-older')).toEqual([
    '0 done',
    '2 cancelled',
    '4 cancelled',
    '6 cancelled',
    '8 done',
  ]);
  const timeline = (await everstep.run('busy').timeline()).filter(({ kind }) => kind === 'evaluation');
  const texts = timeline.map(({ text }) => text).join('\n');
  expect(texts).toMatch(/^step 2: slow-skip skipped/m);
  expect(texts).toMatch(/^step 2: slow-cancel-older told to end: .* step 4/m);
  const modelId = (await stack.modelOf('busy')) ?? '';
  expect((await stack.samplerPaths(modelId)).filter((path) => /00000[246]$/.test(path))).toEqual([]);
});

test('what a schedule waits for in an evaluation of another is not ended with that', async () => {
  const evaluator = (name: string) => ({
    ...{ type: 'plugin', name, evaluator: 'gated' },
    options: { gate: name },
  });
  const of = (overlap: string, every: number, evaluators: readonly object[]) => ({
    ...{ name: overlap, every: { steps: every }, overlap, evaluators },
  });
  const schedules = [
    of('queue', 1, [evaluator('shared'), evaluator('own')]),
    of('cancel-older', 2, [evaluator('shared'), evaluator('newest')]),
  ];
  const handle = await runs.start(
    'sharing',
    runs.config({ steps: 6, batchSize: 4, plugins: plugins.file, schedules }),
    { maxHistoryEvents: 50 },
  );
  const cellsOf = async (evaluator: string) =>
    (await everstep.run('sharing').evaluations())
      .filter((cell) => cell.evaluator === evaluator)
      .map(({ step, status }) => `${step} ${status}`);
  await untilStatus(handle, ({ step, pendingEvaluations }) => step === 6 && pendingEvaluations > 0);
  for (const gate of ['shared', 'own']) plugins.open(gate);
  await until(async () =>
    (await cellsOf('newest')).filter((cell) => cell.endsWith('cancelled')).length === 2 ? true : null,
  );
  plugins.open('newest');
  await reportOf(handle);

  const all = [0, 1, 2, 3, 4, 5, 6].map((step) => `${step} done`);
  expect(await cellsOf('shared')).toEqual(all);
  expect(await cellsOf('own')).toEqual(all);
  expect(await cellsOf('newest')).toEqual(['0 done', '2 cancelled', '4 cancelled', '6 done']);
  const rows = await stack.store.readScores('sharing');
  const measured = rows.filter(({ schedule, evaluator: name }) => schedule === 'queue' && name !== 'newest');
  expect(measured.map(({ step, evaluator: name, error }) => [step, name, error]).sort()).toEqual(
    [0, 1, 2, 3, 4, 5, 6].flatMap((step) => [
      [step, 'own', undefined],
      [step, 'shared', undefined],
    ]),
  );
});

test('training waits for the evaluators of blocking schedules alone, and their gates decide meanwhile', async () => {
  const slow = { type: 'plugin', name: 'slow', evaluator: 'gated', options: { gate: 'late' } };
  const config = gatedRun('alone', {
    gate: { rule: { atLeast: 0.5 }, otherwise: { learningRate: 0.5 } },
    values: { 0: 0.1, 2: 0.1, 4: 0.9 },
    more: { steps: 4 },
  });
  const slowly = { name: 'slowly', every: { steps: 2 }, evaluators: [slow], atEnd: false };
  const schedules = [...(config.schedules ?? []), slowly];
  const handle = await runs.start('alone', runs.config({ ...config, schedules }));

  const status = await untilStatus(handle, ({ step }) => step === 4);
  const rates = await stack.store.readControls('alone');
  plugins.open('late');
  await reportOf(handle);

  expect(status.pendingEvaluations).toBeGreaterThan(0);
  expect(rates[0]).toMatchObject({ control: 'setLearningRate', step: 3, by: 'gate' });
  const rows = (await stack.store.readScores('alone')).map(({ step, evaluator }) => `${step} ${evaluator}`);
  expect(rows.sort()).toEqual(['0 said', '0 slow', '2 said', '2 slow', '4 said', '4 slow']);
});

test('an evaluator that uses up its budget is ended with a row that says so, and the run goes on', async () => {
  const sums = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 8 };
  const slow = { type: 'plugin', name: 'slow', evaluator: 'gated', options: { gate: 'never' } };
  const once = { atStart: false, atEnd: false, at: [4] };
  const schedules = [
    { ...once, name: 'thrifty', evaluators: [sums], budget: { tokens: 30 } },
    { ...once, name: 'hasty', evaluators: [slow], budget: { seconds: 1 } },
    {
      ...once,
      name: 'free',
      evaluators: [{ ...sums, name: 'again' }],
      budget: { tokens: 1e6, seconds: 600 },
    },
  ];

  const report = await runs.train(
    'limited',
    runs.config({ steps: 8, batchSize: 4, plugins: plugins.file, schedules }),
  );

  expect(report.status).toBe('completed');
  const rows = await stack.store.readScores('limited');
  expect(rows.map(({ schedule, metric, error }) => [schedule, metric, error]).sort()).toEqual([
    ['free', 'accuracy', undefined],
    ['hasty', 'error', 'it was not done within its budget of 1 seconds, all its attempts together'],
    ['thrifty', 'error', expect.stringMatching(/would not fit its budget: \d+ of 30 tokens used/)],
  ]);
});
