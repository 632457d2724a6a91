import { kill, Place, until } from './harness/program';

/** Everything a person can change of a run, with the program alone, while its processes are killed. */
let place: Place;

beforeEach(() => {
  place = new Place();
});

afterEach(() => place.remove(), 30_000);

interface Shown {
  readonly status: string;
  readonly step: number;
  readonly finalWeightsDigest: string | null;
  readonly rewinds: number;
  readonly best: { readonly step: number } | null;
}

interface Changed {
  readonly changes: readonly { readonly control: string; readonly step: number }[];
}

interface Controls {
  readonly controls: readonly { readonly control: string; readonly reason: string; readonly step: number }[];
}

function killWorkers(): void {
  for (const { name, pid } of place.stack().children) if (name.includes('worker')) kill(pid);
}

async function outcomeOf(run: string): Promise<object> {
  const { status, step, finalWeightsDigest } = await place.ask<Shown>('runs', 'show', run);
  return { status, step, finalWeightsDigest, metrics: place.read(run, 'metrics.jsonl') };
}

async function change(...words: string[]): Promise<number> {
  const { changes } = await place.ask<Changed>('runs', ...words, '--reason', 'because');
  return changes[0]?.step ?? -1;
}

test('a run is paused, tuned, evaluated, resumed and stopped from the command line while its workers die', async () => {
  const config = place.config({ steps: 6000, batchSize: 64, evalEvery: 2000, saveEvery: 20 });
  await place.dev();
  expect((await place.run('train', config, '--run', 'one', '--detach')).code).toBe(0);
  await until(() => place.stepsDone('one') >= 300);

  killWorkers();
  const atRest = await change('pause', 'one');
  await until(() => place.stepsDone('one') === atRest);
  const rateFrom = await change('set', 'one', 'learningRate=x0.25');
  killWorkers();
  const evaluated = await change('eval', 'one', '--wait');
  const promoted = await change('promote', 'one@20');
  const ended = await place.run('runs', 'stop', 'one');
  const bad = await place.run('runs', 'set', 'one', 'learningRate=-1', '--json');
  // Asked at rest: of a run that trains, a fast machine may have sent any number of steps by then.
  const last = atRest + 700;
  expect(await place.run('runs', 'stop', 'one', '--at-step', String(last), '--yes')).toMatchObject({
    code: 0,
  });
  const goesOnWith = await change('resume', 'one');
  killWorkers();
  expect((await place.run('runs', 'watch', 'one')).code).toBe(0);

  expect([evaluated, rateFrom, goesOnWith, promoted]).toEqual([atRest, atRest + 1, atRest + 1, 20]);
  expect(ended).toMatchObject({ code: 2 });
  expect(ended.stderr).toContain('Repeat it with --yes');
  expect(bad.code).toBe(2);
  const { controls } = await place.ask<Controls>('runs', 'controls', 'one');
  expect(controls.map(({ control }) => control)).toEqual([
    'pause',
    'setLearningRate',
    'runEvaluation',
    'promote',
    'stop',
    'resume',
  ]);
  expect(controls.filter(({ reason }) => reason === 'because').map(({ control }) => control)).toEqual([
    'pause',
    'setLearningRate',
    'runEvaluation',
    'promote',
    'resume',
  ]);
  expect((await place.ask<Shown>('runs', 'show', 'one')).best).toMatchObject({ step: 20 });

  expect((await place.run('train', config, '--run', 'twin', '--detach')).code).toBe(0);
  await place.ask('runs', 'pause', 'twin');
  await place.ask('runs', 'set', 'twin', 'learningRate=x0.25', '--at-step', String(rateFrom));
  expect((await place.run('runs', 'stop', 'twin', '--at-step', String(last), '--yes')).code).toBe(0);
  await place.ask('runs', 'resume', 'twin');
  expect((await place.run('runs', 'watch', 'twin')).code).toBe(0);
  expect(await outcomeOf('one')).toEqual(await outcomeOf('twin'));
  const timeline = await place.ask<{ timeline: { kind: string }[] }>('runs', 'timeline', 'one');
  expect(timeline.timeline.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining([
      'started',
      'opened',
      'paused',
      'resumed',
      'control',
      'checkpoint',
      'evaluation',
      'ended',
    ]),
  );
}, 480_000);
