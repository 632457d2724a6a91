import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCommand } from '../../../src/cli/commands/runs';
import { evaluateRun, resumeRun, setOnRun } from '../../../src/cli/commands/runs-changes';
import { parseSetting } from '../../../src/cli/commands/runs-settings';
import { sparkline } from '../../../src/cli/sparkline';
import { changeText } from '../../../src/client/control-text';
import { mergeTimeline } from '../../../src/client/run-timeline';
import type { TimelineEntry } from '../../../src/core/timeline';
import type { RunHandle } from '../../../src/client/run-handle';
import { createRunStore } from '../../../src/stores/run-store';
import { LIVE, score, STATE } from '../client/fake-server';
import { recordOutput } from './recording-output';

describe('settings', () => {
  test.each([
    ['learningRate=5e-4', { what: 'learningRate', options: { value: 5e-4 } }],
    ['learningRate=x0.5', { what: 'learningRate', options: { multiplier: 0.5 } }],
    ['evalEvery=20', { what: 'schedule', schedule: 'evaluators', options: { every: { steps: 20 } } }],
    ['infrequentEvalEvery=0', { schedule: 'infrequentEvaluators', options: { every: 'never' } }],
    ['schedules.a.b.every=1e5tokens', { schedule: 'a.b', options: { every: { tokens: 1e5 } } }],
    ['schedules.a.every=1.5s', { schedule: 'a', options: { every: { seconds: 1.5 } } }],
    ['schedules.a.at=5, 6', { schedule: 'a', options: { at: [5, 6] } }],
    ['schedules.a.evaluators=+x,-y', { schedule: 'a', options: { add: ['x'], remove: ['y'] } }],
    ['budget.tokens=1e9', { what: 'budget', options: { tokens: 1e9 } }],
    ['budget.dollars=none', { what: 'budget', options: { dollars: null } }],
  ])('%s', (text, setting) => {
    expect(parseSetting(text)).toMatchObject(setting);
  });

  test.each([
    'learningRate',
    '=5',
    'learningRate=fast',
    'learningRate=',
    'steps=5',
    'schedules.a.at=1,x',
    'schedules.a.evaluators=x',
  ])('refuses %s', (text) => {
    expect(() => parseSetting(text)).toThrow(/is no setting|cannot be/);
  });

  test.each([
    ['evalEvery=-3', /^evalEvery cannot be "-3"\. Give a number of steps/],
    ['learningRate=-1', /^learningRate cannot be "-1"\. .+ above 0/],
    ['learningRate=x0', /^learningRate cannot be "x0"\. .+ above 0/],
    ['budget.tokens=-5', /^budget\.tokens cannot be "-5"\. Give a number above 0, or none/],
    ['learningRate=fast', /^learningRate cannot be "fast"\. Give a number, or x/],
    ['budget.tokens=', /^budget\.tokens cannot be ""\. Give a number above 0, or none/],
    ['schedules.a.evaluators=+x,-x', /^schedules\.a\.evaluators cannot be .+ x is added and removed/],
    ['evalEvery', /^"evalEvery" is no setting\. Write KEY=VALUE/],
    ['stepz=5', /^"stepz" cannot be changed while a run goes on/],
  ])('%s is told what is wrong with it', (text, message) => {
    expect(() => parseSetting(text)).toThrow(message);
  });
});

describe('a run that has ended', () => {
  let root: string;
  const change = (...words: string[]) =>
    createCommand()
      .exitOverride()
      .parseAsync([...words, '--data-dir', root, '--store', root], { from: 'user' });
  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'everstep-changes-'));
    const records = createRunStore(root);
    await records.claim('one', { workflowId: 'train/one', firstRunId: 'first' });
    await records.writeState('one', { ...STATE, status: 'completed', step: 100 });
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  test('is changed no more', async () => {
    await expect(change('pause', 'one')).rejects.toThrow(/has ended \(completed at step 100 of 100\)/);
  });

  test('can have a checkpoint promoted, where a server runs', async () => {
    await expect(change('promote', 'one@40')).rejects.toThrow(
      /No Temporal server runs here, and a worker has to keep the checkpoint.*Start `npx everstep dev/,
    );
  });

  test('names its best checkpoint only where one was promoted', async () => {
    await expect(change('promote', 'one@newest')).rejects.toThrow(/or RUN@best, e.g. one@100/);
  });
});

test('a sparkline shows where values stand between the lowest and the highest', () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe('▁▂▃▄▅▆▇█');
  expect(sparkline([4, 4, 0, 0], 2)).toBe('█▁');
  expect(sparkline([1], 8)).toBe('');
  expect(sparkline([2, 2], 8)).toBe('▁▁');
});

test('the timeline merges what the store keeps apart, once and in order', () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const event = { at: at(1), kind: 'opened' as const, step: 0, text: 'life 0' };
  const score = {
    step: 5,
    evaluator: 'e',
    metric: 'm',
    key: 'k',
    value: 1,
    stderr: null,
    n: 1,
    higherIsBetter: true,
  };

  const entries = mergeTimeline({
    report: {
      startedAt: at(0),
      closedAt: at(9),
      status: 'stopped',
      step: 6,
      totalSteps: 10,
      reason: 'enough',
      model: 'x',
    },
    checkpoints: [
      {
        name: '000000',
        step: 0,
        batch: 0,
        epoch: 0,
        final: false,
        state_path: 'a',
        sampler_path: null,
        elapsed_tokens: 0,
        lineage: 0,
        incarnation: 0,
      },
      {
        name: '000005',
        step: 5,
        batch: 5,
        epoch: 0,
        final: false,
        state_path: 'b',
        sampler_path: 'c',
        elapsed_tokens: 0,
        lineage: 0,
        incarnation: 0,
      },
    ],
    scores: [
      { ...score, schedule: 'one', at: at(4) },
      { ...score, schedule: 'two', at: at(4) },
    ],
    controls: [{ at: at(5), by: 'me', reason: 'enough', step: 6, control: 'stop', from: 10, to: 6 }],
    events: [event, { ...event }],
    timing: [{ step: 5, at: at(3), 'time/step': 1 }],
  });

  expect(entries.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'started 10 steps of x',
    'opened life 0',
    'checkpoint 000000',
    'checkpoint 000005',
    'evaluation e: m 1',
    'control stop 10 → 6, by me: enough',
    'ended stopped: enough',
  ]);
});

test('a change is told in words', () => {
  expect(
    changeText({
      control: 'setEvalSchedule',
      from: { schedule: 'a', when: { steps: 5 } },
      to: { schedule: 'a', when: [1, 2] },
    }),
  ).toBe('setEvalSchedule schedule a, when steps 5 → schedule a, when 1,2');
  expect(changeText({ control: 'pause', from: null, to: { step: 3, seconds: null, then: 'resume' } })).toBe(
    'pause step 3, until resumed',
  );
  expect(changeText({ control: 'pause', from: null, to: { step: 3, seconds: 60, then: 'stop' } })).toBe(
    'pause step 3, seconds 60, then stop',
  );
});

test.each([
  [{ tokens: 4000 }, { tokens: null }, 'setBudget tokens 4000 → none'],
  [{}, { tokens: 10, dollarsPerMillionTokens: 0 }, 'setBudget tokens none → 10'],
  [{}, { dollars: 5, dollarsPerMillionTokens: 0 }, 'setBudget dollars none → 5 (tokens are free here)'],
  [{ tokens: 4 }, { tokens: 4 }, 'setBudget as it was'],
])('a budget of %j that becomes %j is told in words', (from, to, text) => {
  expect(changeText({ control: 'setBudget', from, to })).toBe(text);
});

test.each([
  [['eval', 'mine@foo'], '"foo" is no step'],
  [['eval', '@1.5'], 'the run is missing'],
  [['eval', 'mine@'], 'the step is missing'],
  [['promote', 'mine@1.5'], '"1.5" is no step'],
  [['promote', 'mine'], 'mine@STEP'],
])('%j says what is wrong with its target', async (words, message) => {
  await expect(createCommand().parseAsync(words, { from: 'user' })).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining(message) as string,
  });
});

test('runs list refuses an unknown kind and names those there are', async () => {
  const told = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await expect(createCommand().parseAsync(['list', '--kind', 'foo'], { from: 'user' })).rejects.toThrow();
    expect(told.mock.calls.flat().join('')).toContain('Use one of sft, rl');
  } finally {
    told.mockRestore();
  }
});

test.each([
  ['foo=1', /What can: .*budget.tokens/],
  ['tokens=1', /Did you mean "budget.tokens"/],
  ['learningrate=1', /Did you mean "learningRate"/],
  ['evalEvery=2.5', /Give a whole number of steps/],
])('%s is refused with what would be right', (text, words) => {
  expect(() => parseSetting(text)).toThrow(words);
});

test('an evaluation that was waited for comes with its scores', async () => {
  const asked = score({ step: 40, evaluator: 'sums', schedule: 'requested' });
  const handle = {
    name: 'mine',
    runEvaluation: () => Promise.resolve({ control: 'runEvaluation', step: 40, from: null, to: ['sums'] }),
    status: () => Promise.resolve({ ...STATE, ...LIVE, pause: null, source: 'workflow', note: null }),
    scores: () => Promise.resolve([asked, score({ step: 40, evaluator: 'other', schedule: 'every' })]),
    latestMetrics: () => Promise.resolve(null),
  } as unknown as RunHandle;

  expect((await evaluateRun(40, { wait: true })(handle, recordOutput().output)).scores).toEqual([asked]);
  expect(await evaluateRun(40, {})(handle, recordOutput().output)).not.toHaveProperty('scores');
});

describe('runs set', () => {
  async function set(...settings: string[]): Promise<unknown[]> {
    const asked: unknown[] = [];
    const receipt = { control: 'setBudget', step: 5, from: null, to: null };
    const taken = (control: string, ...request: unknown[]) => {
      asked.push([control, ...request]);
      return Promise.resolve(control === 'set' ? [receipt, receipt] : receipt);
    };
    const handle = {
      name: 'mine',
      set: (options: unknown) => taken('set', options),
      setLearningRate: (options: unknown) => taken('rate', options),
      setEvalSchedule: (name: string, options: unknown) => taken('schedule', name, options),
      setBudget: (options: unknown) => taken('budget', options),
      status: () => Promise.resolve({}),
    } as unknown as RunHandle;
    await setOnRun(settings.map(parseSetting), { atStep: 7 })(handle, recordOutput().output);
    return asked;
  }

  test('refuses a rhythm that is given twice, also in two spellings', async () => {
    await expect(set('evalEvery=20', 'schedules.evaluators.every=30')).rejects.toThrow(
      'schedules.evaluators.every is given twice. Leave one out.',
    );
    await expect(set('schedules.a.at=5', 'schedules.a.at=6')).rejects.toThrow(
      'schedules.a.at is given twice',
    );
  });

  test('says that a limit is passed already, and the run pauses', async () => {
    const limits = { tokens: 100, seconds: 60, dollars: null, dollarsPerMillionTokens: null };
    const handle = {
      name: 'mine',
      setBudget: () => Promise.resolve({ control: 'setBudget', step: 5, from: null, to: limits }),
      status: () =>
        Promise.resolve({ budget: { limits, spent: { tokens: 296_273, seconds: 9, dollars: null } } }),
    } as unknown as RunHandle;

    const { lines } = await setOnRun([parseSetting('budget.tokens=100')], {})(handle, recordOutput().output);

    expect(lines.slice(1)).toEqual([
      'Run mine has used 296273 of 100 tokens already: it finishes what is under way and pauses.',
    ]);
  });

  test('refuses a limit that is given twice', async () => {
    await expect(set('budget.tokens=5', 'learningRate=1e-3', 'budget.tokens=none')).rejects.toThrow(
      'budget.tokens is given twice. Leave one out.',
    );
  });

  test('is one change, whatever it names', async () => {
    const settings = [
      ...['schedules.a.every=20', 'learningRate=1e-3', 'budget.tokens=5', 'schedules.a.evaluators=+x'],
      ...['schedules.b.every=3', 'budget.seconds=none', 'schedules.a.evaluators=-y'],
    ];

    expect(await set(...settings)).toEqual([
      [
        'set',
        {
          atStep: 7,
          budget: { tokens: 5, seconds: null },
          learningRate: { value: 1e-3 },
          schedules: {
            a: { every: { steps: 20 }, add: ['x'], remove: ['y'] },
            b: { every: { steps: 3 } },
          },
        },
      ],
    ]);
  });

  test.each([
    [['schedules.a.every=20'], ['schedule', 'a', { atStep: 7, every: { steps: 20 } }]],
    [['budget.tokens=5'], ['budget', { tokens: 5 }]],
    [
      ['learningRate=x0.5', 'learningRate=x0.5'],
      ['rate', { atStep: 7, multiplier: 0.25 }],
    ],
    [
      ['learningRate=1e-3', 'learningRate=x0.5'],
      ['rate', { atStep: 7, value: 5e-4 }],
    ],
    [
      ['learningRate=x0.5', 'learningRate=1e-3'],
      ['rate', { atStep: 7, value: 1e-3 }],
    ],
  ])('asks for a single change by itself: %j', async (settings, change) => {
    expect(await set(...settings)).toEqual([change]);
  });
});

test('the timeline of a run that was continued keeps what ended it, once also while somebody begins to', () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const report = { startedAt: at(0), totalSteps: 10, model: 'x', step: 6, status: 'failed' as const };
  const rest = { checkpoints: [], controls: [], timing: [], scores: [] };
  const ended = { at: at(2), kind: 'ended' as const, step: 6, text: 'failed: no' };
  const continued = { at: at(3), kind: 'continued' as const, step: 5, text: 'from the checkpoint of step 5' };
  const told = (entries: readonly TimelineEntry[]) => entries.map(({ kind, text }) => `${kind} ${text}`);

  const begun = { ...report, closedAt: at(2), reason: 'no' };
  expect(told(mergeTimeline({ ...rest, report: begun, events: [ended] }))).toEqual([
    'started 10 steps of x',
    'ended failed: no',
  ]);
  const whole = { ...report, closedAt: at(5), status: 'completed' as const, step: 10 };
  expect(told(mergeTimeline({ ...rest, report: whole, events: [ended, continued] }))).toEqual([
    'started 10 steps of x',
    'ended failed: no',
    'continued from the checkpoint of step 5',
    'ended completed',
  ]);
});

test('an evaluation that was left out has one row in the timeline', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const omitted = (step: number, evaluator: string) => ({
    ...{ step, evaluator, schedule: 's', metric: 'cancelled', key: 'k', value: null, stderr: null, n: 0 },
    ...{ higherIsBetter: null, at, error: 'cancelled: the evaluation of step 20 took its place (overlap)' },
  });
  const entries = mergeTimeline({
    report: { ...{ startedAt: at, closedAt: null, status: 'running', step: 20, totalSteps: 40 }, model: 'x' },
    ...{ checkpoints: [], controls: [], timing: [] },
    scores: [omitted(10, 'a'), omitted(10, 'c'), omitted(1, 'a')],
    events: [
      {
        ...{ at, kind: 'evaluation', step: 20 },
        text: 'step 10: a, b cancelled: the evaluation of step 20 took its place (overlap)',
      },
    ],
  });

  expect(entries.filter(({ kind }) => kind === 'evaluation').map(({ text }) => text)).toEqual([
    'step 10: a, b cancelled: the evaluation of step 20 took its place (overlap)',
    'c: cancelled: the evaluation of step 20 took its place (overlap)',
    'a: cancelled: the evaluation of step 20 took its place (overlap)',
  ]);
});

test.each([
  ['paused', 'Run mine goes on with step 5.'],
  ['running', 'Run mine goes on with step 5; the pause that was asked for is withdrawn.'],
])('resume of a run that is %s says what becomes of the pause', async (from, line) => {
  const handle = {
    name: 'mine',
    resume: () => Promise.resolve({ control: 'resume', step: 5, from, to: 'running' }),
  } as unknown as RunHandle;

  const { lines } = await resumeRun({})(handle, recordOutput().output);

  expect(lines[0]).toBe(line);
});
