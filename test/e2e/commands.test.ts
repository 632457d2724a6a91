import { readFileSync } from 'node:fs';
import path from 'node:path';
import { findFreePort } from '../../src/stack/free-port';
import type { Ended } from './harness/program';
import { Place, until } from './harness/program';

let place: Place;

function documentOf({ stdout, code }: Ended): Record<string, unknown> {
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('without a stack of its own running', () => {
  beforeEach(() => {
    place = new Place();
  });

  afterEach(() => place.remove(), 30_000);

  test('two `train` at once share a stack, both complete, and nothing stays behind', async () => {
    const config = place.config();

    const ended = await Promise.all([
      place.run('train', config, '--run', 'left', '--json'),
      place.run('train', config, '--run', 'right', '--json'),
    ]);

    const [left = {}, right = {}] = ended.map(documentOf);
    expect(left).toMatchObject({ run: 'left', status: 'completed', step: 20, totalSteps: 20 });
    expect(right['finalWeightsDigest']).toBe(left['finalWeightsDigest']);
    await until(() => place.processes().length === 0);
  }, 90_000);

  test('Ctrl-C of `train` exits 130 and leaves no process; `dev` goes on with the run', async () => {
    const train = place.start('train', place.config({ steps: 60, batchSize: 64 }), '--run', 'paused');
    await until(() => place.stepsDone('paused') >= 5);
    const interruptedAt = performance.now();

    train.child.kill('SIGINT');
    const { code, stderr } = await train.ended;
    await until(() => place.processes().length === 0);
    const seconds = (performance.now() - interruptedAt) / 1000;
    const stepsThen = place.stepsDone('paused');
    const seen = await place.ask<{ status: string; step: number }>('runs', 'show', 'paused');

    expect(code).toBe(130);
    expect(stderr).toContain('everstep train --run paused');
    expect(seconds).toBeLessThan(15);
    expect(stepsThen).toBeLessThan(60);
    expect(seen.step).toBe(stepsThen);

    await place.dev();
    expect((await place.run('runs', 'watch', 'paused')).code).toBe(0);
    const rows = place.read('paused', 'metrics.jsonl').trimEnd().split('\n');
    expect(rows.map((row) => (JSON.parse(row) as { step: number }).step)).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  }, 120_000);
});

describe('on a running stack', () => {
  beforeAll(async () => {
    place = new Place();
    await place.dev();
  }, 60_000);

  afterAll(() => place.remove(), 30_000);

  /** Exit code, and one line that names the key or place, the value and what to do. */
  function expectRefusal(
    { code, stdout, stderr }: Ended,
    expected: { code: number; names: readonly RegExp[] },
  ): void {
    const lines = stderr.split('\n').filter((line) => line.startsWith('everstep: '));
    const others = stderr.split('\n').filter((line) => !/^(everstep: |Stack in |Engine: |Run |$)/.test(line));
    expect({ code, lines: lines.length, others, stdout }).toEqual({
      code: expected.code,
      lines: 1,
      others: [],
      stdout: '',
    });
    for (const pattern of expected.names) expect(lines[0]).toMatch(pattern);
  }

  const long = JSON.stringify({
    messages: [
      { role: 'user', content: '1'.repeat(5000) },
      { role: 'assistant', content: '2' },
    ],
  });
  const evaluator = (more: object) => ({ evaluators: [more] });

  test.each<[string, number, RegExp[], () => string[]]>([
    ['an unknown key', 2, [/batchSiz\b/, /batchSize/], () => [place.config({ batchSiz: 3 }, 'bad.json')]],
    [
      "the field's spelling of a key",
      2,
      [/eval_every/, /evalEvery/],
      () => [place.config({ eval_every: 3 }, 'bad.json')],
    ],
    ['a wrong type', 2, [/steps/, /many/, /number/], () => [place.config({ steps: 'many' }, 'bad.json')]],
    [
      'a wrong type in --set',
      2,
      [/learningRate/, /fast/, /number/],
      () => [place.config(), '--set', 'learningRate=fast'],
    ],
    ['a missing config', 2, [/nowhere\.yaml/], () => ['nowhere.yaml']],
    [
      'a missing dataset',
      2,
      [/nowhere\.jsonl/],
      () => [place.config({ dataset: { path: 'nowhere.jsonl' } }, 'bad.json')],
    ],
    [
      'an empty dataset',
      2,
      [/empty\.jsonl/],
      () => {
        place.write('empty.jsonl', '');
        return [place.config({ dataset: { path: 'empty.jsonl' } }, 'bad.json')];
      },
    ],
    [
      'a malformed dataset',
      2,
      [/malformed\.jsonl/, /line 1/],
      () => {
        place.write('malformed.jsonl', '{"messages": 3}\n');
        return [place.config({ dataset: { path: 'malformed.jsonl' } }, 'bad.json')];
      },
    ],
    [
      'a sequence longer than the context',
      2,
      [/example 1/, /maxLength/],
      () => {
        place.write('long.jsonl', `${long}\n`);
        return [place.config({ dataset: { path: 'long.jsonl' } }, 'bad.json')];
      },
    ],
    [
      'what only a worker finds, also where nobody follows the run',
      2,
      [/example 1/, /maxLength/],
      () => {
        place.write('long.jsonl', `${long}\n`);
        return [place.config({ dataset: { path: 'long.jsonl' } }, 'bad.json'), '--detach'];
      },
    ],
    [
      'an unknown model',
      2,
      [/model/, /everstep\/huge/, /everstep\/tiny/],
      () => [place.config({ model: 'everstep/huge', renderer: 'role_colon' }, 'bad.json')],
    ],
    [
      'an unknown model without renderer',
      2,
      [/everstep\/huge/],
      () => [place.config({ model: 'everstep/huge' }, 'bad.json')],
    ],
    ['an unknown renderer', 2, [/renderer/, /nope/], () => [place.config({ renderer: 'nope' }, 'bad.json')]],
    [
      'an unknown benchmark',
      2,
      [/nope/, /arithmetic/],
      () => [place.config(evaluator({ type: 'benchmark', benchmark: 'nope' }), 'bad.json')],
    ],
    [
      'an unknown kind of evaluator',
      2,
      [/evaluators/, /mystery/],
      () => [place.config(evaluator({ type: 'mystery' }), 'bad.json')],
    ],
    [
      'a grader nobody has',
      2,
      [/ghost/, /plugins/],
      () => [
        place.config(
          evaluator({ type: 'custom', name: 'g', grader: 'ghost', dataset: { path: 'held out.jsonl' } }),
          'bad.json',
        ),
      ],
    ],
    [
      'a plug-in file that is missing',
      2,
      [/plugins/, /nowhere\.ts/],
      () => [place.config({ plugins: 'nowhere.ts' }, 'bad.json')],
    ],
    ['a bad run name', 2, [/\.\.\/escape/], () => [place.config(), '--run', '../escape']],
    ['no config', 2, [/config file/, /--run/], () => []],
    ['a run nobody knows', 2, [/stranger/], () => ['--run', 'stranger']],
  ])('%s: exit %i, one line, nothing left', async (_what, code, names, args) => {
    const given = args();
    const before = place.runFolders();

    const ended = await place.run('train', ...given);

    expectRefusal(ended, { code, names });
    expect(place.runFolders()).toEqual(before);
    const { runs } = await place.ask<{ runs: { status: string }[] }>('runs', 'list');
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
  });

  test('an engine that stays unreachable: exit 1, one line, nothing left', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}`;

    const ended = await place.run('train', place.config(), '--run', 'alone', '--engine', url);

    expectRefusal(ended, { code: 1, names: [/engine\.url/, new RegExp(url), /--engine/] });
    expect(place.runFolders()).not.toContain('alone');
  }, 50_000);

  test('every --json answer is one document, and says the same by its own run', async () => {
    const config = place.config({ steps: 10, evalEvery: 5 });
    const trained = documentOf(await place.run('train', config, '--run', 'spoken', '--json'));

    const shown = documentOf(await place.run('runs', 'show', 'spoken', '--json'));
    const scored = documentOf(await place.run('runs', 'scores', 'spoken', '--json'));
    const measured = documentOf(await place.run('runs', 'metrics', 'spoken', '--json'));
    const listed = documentOf(await place.run('runs', 'list', '--json'));
    const watched = documentOf(await place.run('runs', 'watch', 'spoken', '--json'));

    expect(trained).toMatchObject({ run: 'spoken', status: 'completed' });
    expect(shown).toMatchObject({
      run: 'spoken',
      status: 'completed',
      step: 10,
      totalSteps: 10,
      rewinds: 0,
      stepsReplayed: 0,
    });
    expect(shown['finalWeightsDigest']).toMatch(/^[0-9a-f]{64}$/);
    expect(scored).toMatchObject({ run: 'spoken', status: 'completed', step: 10, totalSteps: 10 });
    const score = { schedule: 'evaluators', evaluator: 'arithmetic', metric: 'accuracy', step: 10, n: 8 };
    expect(scored['scores']).toEqual(expect.arrayContaining([expect.objectContaining(score)]));
    expect(JSON.stringify(measured)).toContain('"train/nll"');
    expect(listed['runs']).toEqual(
      expect.arrayContaining([expect.objectContaining({ run: 'spoken', status: 'completed' })]),
    );
    expect(watched).toMatchObject({ run: 'spoken', status: 'completed' });
  }, 60_000);

  test('the name of a finished run is refused, and --force-new takes the next one', async () => {
    const config = place.config({ steps: 4, evalEvery: 0, evaluators: [] });
    expect((await place.run('train', config, '--run', 'taken')).code).toBe(0);
    const before = readFileSync(path.join(place.data, 'store/runs/taken/state.json'), 'utf8');

    expectRefusal(await place.run('train', config, '--run', 'taken'), {
      code: 2,
      names: [/taken/, /--force-new/],
    });

    const again = documentOf(await place.run('train', config, '--run', 'taken', '--force-new', '--json'));
    expect(again).toMatchObject({ run: 'taken-2', status: 'completed' });
    expect(readFileSync(path.join(place.data, 'store/runs/taken/state.json'), 'utf8')).toBe(before);
  }, 60_000);
});
