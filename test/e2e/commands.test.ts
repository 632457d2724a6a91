import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findFreePort } from '../../src/stack/free-port';
import { HeldEngine } from './harness/held-engine';
import type { Command, Ended } from './harness/program';
import { kill, Place, until } from './harness/program';
import { follow, post, serve } from './harness/served';

/** The program as a person uses it: first with a stack that comes and goes with its commands, then with one that stays. */
let place: Place;
let held: HeldEngine;

beforeAll(async () => {
  place = new Place();
  held = await HeldEngine.start(place);
});

afterAll(async () => {
  await place.remove();
  await held.close();
});

afterEach(() => {
  held.training.letGo();
  place.variables = {};
});

const SHORT = { steps: 10, batchSize: 8, evalEvery: 5 };
/** More than are under way when the run hears that its command ends: until then no more are let go. */
const LONG = 40;
const HELD_RESULTS = path.join(__dirname, 'harness/held-results.cjs');
const QUIET = { batchSize: 8, evalEvery: 0, evaluators: [] };

/** A run at the service that a test holds. */
function heldConfig(more: object): string {
  return place.config({ ...QUIET, engine: { url: held.url }, ...more }, 'held.json');
}

function documentOf({ stdout, code }: Ended): Record<string, unknown> {
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

function stepsOf(run: string): number[] {
  const rows = place.read(run, 'metrics.jsonl').trimEnd().split('\n');
  return rows.map((row) => (JSON.parse(row) as { step: number }).step);
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

/** The run has heard that the command which trains it ends. */
async function untilHandedOver(run: string): Promise<void> {
  await until(() => place.read(run, 'controls.jsonl').includes('"handOver"'));
}

interface Shown {
  readonly status: string;
  readonly step: number;
  readonly finalWeightsDigest: string | null;
  readonly best: { readonly step: number } | null;
}

describe('without a stack of its own running', () => {
  test('`train` at once share a stack and complete; Ctrl-C of the last exits 130 and leaves no process', async () => {
    held.training.holdAfter(5);
    const paused = place.start('train', heldConfig({ steps: LONG }), '--run', 'paused');
    const config = place.config(SHORT);
    const ended = await Promise.all([
      place.run('train', config, '--run', 'left', '--json'),
      place.run('train', config, '--run', 'right', '--json'),
    ]);
    await until(() => place.stepsDone('paused') === 5);

    paused.child.kill('SIGINT');
    await paused.says(/Saving where the run stands/);
    await untilHandedOver('paused');
    held.training.letGo();
    const { code, stderr } = await paused.ended;
    await until(() => place.processes().length === 0);
    const seen = await place.ask<Shown>('runs', 'show', 'paused');

    const [left = {}, right = {}] = ended.map(documentOf);
    expect(left).toMatchObject({ run: 'left', status: 'completed', step: 10, totalSteps: 10 });
    expect(right['finalWeightsDigest']).toBe(left['finalWeightsDigest']);
    expect(code).toBe(130);
    expect(stderr).toContain('train --run paused');
    expect(stderr).toContain(`Interrupted at step ${seen.step} of ${LONG}; nothing is lost`);
    expect(seen.step).toBeLessThan(LONG);
  });

  test('Ctrl-C of `train` between two checkpoints has no step trained again', async () => {
    const config = place.config({ ...QUIET, steps: LONG, saveEvery: 0 });
    const hold = place.write('held', '10');
    place.variables = {
      NODE_OPTIONS: `--require "${HELD_RESULTS}"`,
      EVERSTEP_TEST_HELD_RESULTS: hold,
    };
    const first = place.start('train', config, '--run', 'between');
    await until(() => place.stepsDone('between') >= 5);
    first.child.kill('SIGINT');
    await untilHandedOver('between');
    rmSync(hold);
    const { code, stderr } = await first.ended;
    const again = await place.run('train', '--run', 'between', '--json');

    expect(code).toBe(130);
    expect(documentOf(again)).toMatchObject({ status: 'completed', rewinds: 0, stepsReplayed: 0 });
    expect(stderr).toContain('nothing is lost');
    expect(stepsOf('between')).toEqual(upTo(LONG));
  });
});

describe('on a running stack', () => {
  let dev: Command;

  beforeAll(startDev);

  async function startDev(): Promise<void> {
    dev = await place.dev();
  }

  test('`dev` goes on with a run that Ctrl-C left', async () => {
    expect((await place.run('runs', 'watch', 'paused')).code).toBe(0);

    expect(stepsOf('paused')).toEqual(upTo(LONG));
    expect(await place.ask('runs', 'show', 'paused')).toMatchObject({ rewinds: 0, stepsReplayed: 0 });
  });

  test('`dev` writes logs as JSON lines, one file a service', () => {
    const lines = readFileSync(path.join(place.data, 'logs/temporal.log'), 'utf8').split('\n');

    expect(lines.some((line) => line.startsWith('{') && 'service' in JSON.parse(line))).toBe(true);
  });

  test("`dev` opens no page of Temporal's", () => {
    expect(place.stack().uiUrl).toBeNull();
    expect(dev.stdout).toMatch(/^Temporal {2}\S+/m);
    expect(dev.stdout).not.toMatch(/^UI/m);
  });

  test('`dev` says that it is already running', async () => {
    const { code, stderr } = await place.run('dev');

    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`already running.*process ${dev.child.pid ?? 0}`));
  });

  test('`dev` can be started at once after its supervisor was killed, and is where it was', async () => {
    const { temporalAddress, engineUrl, children } = place.stack();
    dev.child.kill('SIGKILL');

    await startDev();

    expect(place.stack()).toMatchObject({ temporalAddress, engineUrl });
    expect(place.stack().children.map(({ name }) => name)).toEqual([
      'temporal',
      'engine',
      'worker',
      'worker-evaluations',
    ]);
    const former = children.map(({ pid }) => pid);
    await until(() => !place.processes().some(({ pid }) => former.includes(pid)));
  });

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

    const ended = await place.runHere('train', ...given);

    expectRefusal(ended, { code, names });
    expect(place.runFolders()).toEqual(before);
    const { runs } = await place.ask<{ runs: { status: string }[] }>('runs', 'list');
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
  });

  test('an engine that stays unreachable: exit 1, one line, nothing left', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}`;

    const ended = await place.runHere('train', place.config(), '--run', 'alone', '--engine', url);

    expectRefusal(ended, { code: 1, names: [/engine\.url/, new RegExp(url), /--engine/] });
    expect(place.runFolders()).not.toContain('alone');
  });

  test.each([
    ['before anything is started', '{"messages": 3}', /line 1/],
    ['by a worker alone', long, /maxLength/],
  ])('what is found %s is refused the same by a process of its own', async (_where, row, names) => {
    place.write('refused.jsonl', `${row}\n`);

    const ended = await place.run('train', place.config({ dataset: { path: 'refused.jsonl' } }, 'bad.json'));

    expectRefusal(ended, { code: 2, names: [names] });
  });

  test('every --json answer is one document, and says the same by its own run', async () => {
    const shown = documentOf(await place.run('runs', 'show', 'left', '--json'));
    const scored = documentOf(await place.runHere('runs', 'scores', 'left', '--json'));
    const measured = documentOf(await place.runHere('runs', 'metrics', 'left', '--json'));
    const listed = documentOf(await place.runHere('runs', 'list', '--json'));
    const watched = documentOf(await place.runHere('runs', 'watch', 'left', '--json'));

    expect(shown).toMatchObject({
      run: 'left',
      status: 'completed',
      step: 10,
      totalSteps: 10,
      rewinds: 0,
      stepsReplayed: 0,
    });
    expect(shown['finalWeightsDigest']).toMatch(/^[0-9a-f]{64}$/);
    expect(scored).toMatchObject({ run: 'left', status: 'completed', step: 10, totalSteps: 10 });
    const score = { schedule: 'evaluators', evaluator: 'arithmetic', metric: 'accuracy', step: 10, n: 8 };
    expect(scored['scores']).toEqual(expect.arrayContaining([expect.objectContaining(score)]));
    expect(JSON.stringify(measured)).toContain('"train/nll"');
    expect(listed['runs']).toEqual(
      expect.arrayContaining([expect.objectContaining({ run: 'left', status: 'completed' })]),
    );
    expect(watched).toMatchObject({ run: 'left', status: 'completed' });
  });

  test('the name of a finished run is refused, and --force-new takes the next one', async () => {
    const config = place.config({ ...QUIET, steps: 2 });
    const before = readFileSync(path.join(place.data, 'store/runs/left/state.json'), 'utf8');

    expectRefusal(await place.runHere('train', config, '--run', 'left'), {
      code: 2,
      names: [/left/, /--force-new/],
    });

    const again = documentOf(await place.runHere('train', config, '--run', 'left', '--force-new', '--json'));
    expect(again).toMatchObject({ run: 'left-2', status: 'completed' });
    expect(readFileSync(path.join(place.data, 'store/runs/left/state.json'), 'utf8')).toBe(before);
  });

  describe('a run is changed', () => {
    interface Changed {
      readonly changes: readonly { readonly control: string; readonly step: number }[];
    }

    interface Controls {
      readonly controls: readonly { readonly control: string; readonly reason: string }[];
    }

    function killPart(name: string): void {
      kill(place.stack().children.find((child) => child.name === name)?.pid ?? 0);
    }

    async function outcomeOf(run: string): Promise<object> {
      const { status, step, finalWeightsDigest } = await place.ask<Shown>('runs', 'show', run);
      return { status, step, finalWeightsDigest, metrics: place.read(run, 'metrics.jsonl') };
    }

    async function change(...words: string[]): Promise<number> {
      const { changes } = await place.ask<Changed>('runs', ...words, '--reason', 'because');
      return changes[0]?.step ?? -1;
    }

    test('from the command line: paused, tuned, evaluated, resumed and stopped while its workers die', async () => {
      const evaluators = [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 8 }];
      const config = heldConfig({ steps: 60, saveEvery: 10, evalEvery: 60, evaluators });
      held.training.holdAfter(12);
      expect((await place.runHere('train', config, '--run', 'one', '--detach')).code).toBe(0);
      await until(() => place.stepsDone('one') === 12);

      const atRest = await change('pause', 'one');
      killPart('worker');
      held.training.letGo();
      await until(() => place.stepsDone('one') === atRest);
      const rateFrom = await change('set', 'one', 'learningRate=x0.25');
      killPart('worker-evaluations');
      const evaluated = await change('eval', 'one', '--wait');
      const promoted = await change('promote', 'one@10');
      const ended = await place.runHere('runs', 'stop', 'one');
      const bad = await place.runHere('runs', 'set', 'one', 'learningRate=-1', '--json');
      const last = atRest + 10;
      expect(await place.runHere('runs', 'stop', 'one', '--at-step', String(last), '--yes')).toMatchObject({
        code: 0,
      });
      const goesOnWith = await change('resume', 'one');
      expect((await place.runHere('runs', 'watch', 'one')).code).toBe(0);

      expect([evaluated, rateFrom, goesOnWith, promoted]).toEqual([atRest, atRest + 1, atRest + 1, 10]);
      expect(ended).toMatchObject({ code: 2 });
      expect(ended.stderr).toContain('Repeat it with --yes');
      expect(bad.code).toBe(2);
      const { controls } = await place.ask<Controls>('runs', 'controls', 'one');
      expect(controls.map(({ control, reason }) => [control, reason])).toEqual([
        ['pause', 'because'],
        ['setLearningRate', 'because'],
        ['runEvaluation', 'because'],
        ['promote', 'because'],
        ['stop', ''],
        ['resume', 'because'],
      ]);
      expect((await place.ask<Shown>('runs', 'show', 'one')).best).toMatchObject({ step: 10 });

      held.training.holdAfter(0);
      expect((await place.runHere('train', config, '--run', 'twin', '--detach')).code).toBe(0);
      await place.ask('runs', 'set', 'twin', 'learningRate=x0.25', '--at-step', String(rateFrom));
      expect((await place.runHere('runs', 'stop', 'twin', '--at-step', String(last), '--yes')).code).toBe(0);
      held.training.letGo();
      expect((await place.runHere('runs', 'watch', 'twin')).code).toBe(0);
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
    });
  });

  describe('`serve`', () => {
    test('follows, changes and asks a run, and its records answer when `dev stop` has ended it', async () => {
      const { url, command } = await serve(place);
      held.training.holdAfter(10);
      await place.runHere('train', heldConfig({ steps: 40 }), '--run', 'served', '--detach');
      const following = follow(`${url}/api/v1/runs/served/events`);
      await until(() => place.stepsDone('served') === 10);

      const changed = await post(`${url}/api/v1/runs/served/stop`, { reason: 'enough' });
      const refused = await post(`${url}/api/v1/runs/served/stop`, { atStep: 1000 });
      held.training.letGo();
      const heard = await following;

      const receipt = (await changed.json()) as { step: number };
      expect(receipt).toMatchObject({ control: 'stop' });
      expect(receipt.step).toBeLessThan(40);
      expect(refused.status).toBe(422);
      const steps = heard.filter(({ event }) => event === 'step').map(({ data }) => data['step']);
      expect(steps).toEqual(upTo(receipt.step));
      expect(heard.filter(({ event }) => event === 'control').map(({ data }) => data['reason'])).toContain(
        'enough',
      );
      expect(heard.at(-1)).toMatchObject({ event: 'status', data: { status: 'stopped' } });

      const answer = await post(`${url}/v1/chat/completions`, {
        ...{ model: 'served', messages: [{ role: 'user', content: '1+1=' }], max_tokens: 4 },
      });
      expect(await answer.json()).toMatchObject({
        model: `served@${steps.length}`,
        object: 'chat.completion',
      });

      const { children } = place.stack();
      const stopped = await place.runHere('dev', 'stop');
      expect(stopped.stdout).toContain(`Stopped dev (process ${String(dev.child.pid)})`);
      for (const { name, pid } of children) expect(stopped.stdout).toContain(`${name} (${pid})`);
      expect((await dev.ended).code).toBe(0);
      const others = place.processes().filter(({ pid }) => pid !== command.child.pid);
      const metrics = (await (await fetch(`${url}/api/v1/runs/served/metrics`)).json()) as {
        metrics: object[];
      };
      const late = await post(`${url}/api/v1/runs/served/stop`, {});
      expect(others).toEqual([]);
      expect(metrics.metrics).toHaveLength(steps.length);
      expect(late.status).toBe(503);

      command.child.kill('SIGTERM');
      expect((await command.ended).code).toBe(0);
    });

    test('ends soon after SIGTERM although an answer is under way', async () => {
      const { url, command } = await serve(place, '--engine', held.url);
      const draws = held.training.holdDraws(0);
      const answer = post(`${url}/v1/chat/completions`, {
        ...{ model: 'everstep/tiny', messages: [{ role: 'user', content: '1+1=' }], max_tokens: 4 },
      }).then(
        ({ status }) => status,
        () => 'cut off',
      );
      await draws.held(1);

      command.child.kill('SIGTERM');

      expect((await command.ended).code).toBe(0);
      expect(await answer).toBe('cut off');
      draws.letGo();
    });

    test('says where it is in one line of JSON, and ends with 130 for SIGINT', async () => {
      const { url, command } = await serve(place, '--json');

      const reply = await fetch(`${url}/api/v1/runs`);
      command.child.kill('SIGINT');

      expect(JSON.parse(command.stdout)).toMatchObject({ url, gateway: `${url}/v1`, asksForToken: false });
      expect(reply.status).toBe(200);
      expect((await command.ended).code).toBe(130);
    });

    test('beyond this machine asks for a token, or does not start', async () => {
      const port = String(await findFreePort());

      const { code, stderr } = await place.runHere('serve', '--port', port, '--host', '0.0.0.0');

      expect(code).toBe(2);
      expect(stderr).toContain('EVERSTEP_SERVE_TOKEN');
    });
  });
});
