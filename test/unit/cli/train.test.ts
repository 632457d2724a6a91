import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { checkTraining } from '../../../src/client/check-training';
import { createCommand } from '../../../src/cli/commands/train';
import { chooseEngine, requireKey } from '../../../src/cli/commands/train-engine';
import { OFFICIAL_SERVICE } from '../../../src/core/official-service';
import { exitCodeOf, refusalOf } from '../../../src/cli/exit-codes';
import { confidenceInterval } from '../../../src/cli/tables-interval';
import { formatNumber } from '../../../src/cli/number-format';
import { printScoreSummary, printScores } from '../../../src/cli/score-tables';
import { errorLine, scoreText } from '../../../src/cli/score-text';
import { duration, progressLine } from '../../../src/cli/watch-line';
import { createRate } from '../../../src/cli/watch-rate';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import { DomainError } from '../../../src/core/errors';
import { STATE, score } from '../client/fake-server';
import { recordOutput } from './recording-output';

const MINIMAL = { kind: 'sft', model: 'everstep/tiny', dataset: { path: '/nowhere/train.jsonl' } };

describe('engine', () => {
  const none = { engineUrl: null, engineApiKey: null };
  const config = (more: object = {}) => parseTrainingConfig({ ...MINIMAL, ...more });

  test.each([
    [
      'the flag before all',
      {
        flag: 'http://f',
        config: config({ engine: { url: 'http://c' } }),
        environment: { ...none, engineUrl: 'http://e' },
      },
      'http://f',
    ],
    [
      'the config before the environment',
      {
        flag: undefined,
        config: config({ engine: { url: 'http://c' } }),
        environment: { ...none, engineUrl: 'http://e' },
      },
      'http://c',
    ],
    [
      'TINKER_BASE_URL',
      { flag: undefined, config: config(), environment: { ...none, engineUrl: 'http://e' } },
      'http://e',
    ],
    [
      'the official service by name',
      { flag: 'tinker', config: config(), environment: none },
      OFFICIAL_SERVICE,
    ],
    [
      'the official service for a model we do not have',
      {
        flag: undefined,
        config: config({ model: 'Qwen/Qwen3-8B' }),
        environment: { ...none, engineApiKey: 'k' },
      },
      OFFICIAL_SERVICE,
    ],
    [
      'the local one for our model, key or not',
      { flag: undefined, config: config(), environment: { ...none, engineApiKey: 'k' } },
      null,
    ],
    [
      'the local one otherwise',
      { flag: undefined, config: config({ model: 'Qwen/Qwen3-8B' }), environment: none },
      null,
    ],
  ])('%s', (_, question, expected) => {
    expect(chooseEngine(question)?.url ?? null).toBe(expected);
  });

  test.each([
    ['--engine tinker', 'tinker', {}, 'http://e', true],
    ['--engine', 'http://f', {}, 'http://e', true],
    ['engine.url', undefined, { engine: { url: 'http://c' } }, 'http://e', true],
    ['--engine', 'http://e', {}, 'http://e', false],
    ['--engine tinker', 'tinker', {}, null, false],
  ])('%s says whether it goes before TINKER_BASE_URL', (because, flag, more, engineUrl, isSaid) => {
    const chosen = chooseEngine({ flag, config: config(more), environment: { ...none, engineUrl } });

    const remark = '; TINKER_BASE_URL is set and not used';
    expect(chosen?.because).toBe(isSaid ? `${because}${remark}` : because);
  });
});

describe('a key', () => {
  test.each([OFFICIAL_SERVICE, `${OFFICIAL_SERVICE}/`])('is needed by %s', (url) => {
    expect(() => {
      requireKey(url, { engineApiKey: null });
    }).toThrow(/TINKER_API_KEY/);
    expect(() => {
      requireKey(url, { engineApiKey: 'tml-k' });
    }).not.toThrow();
  });

  test('is not needed by other services', () => {
    expect(() => {
      requireKey('http://127.0.0.1:8000', { engineApiKey: null });
    }).not.toThrow();
  });
});

describe('checks before anything is started', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-check-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const check = (more: object) => checkTraining(parseTrainingConfig({ ...MINIMAL, ...more }), folder);

  async function dataset(text: string): Promise<string> {
    const file = path.join(folder, 'train.jsonl');
    await writeFile(file, text);
    return file;
  }

  test('accepts good local data', async () => {
    const row = {
      messages: [
        { role: 'user', content: '1+1=' },
        { role: 'assistant', content: '2' },
      ],
    };

    await expect(
      check({ dataset: { path: await dataset(`${JSON.stringify(row)}\n`) } }),
    ).resolves.toBeUndefined();
  });

  test.each([
    ['evaluators', { evaluators: ['arithmetics'], evalEvery: 0 }],
    ['infrequentEvaluators', { infrequentEvaluators: ['arithmetics'], infrequentEvalEvery: 0 }],
  ])(
    'refuses a misspelt evaluator whose schedule (%s) is switched off, and names its key and the nearest',
    async (key, more) => {
      await expect(check(more)).rejects.toThrow(`${key}[0]: Unknown benchmark`);
      await expect(check(more)).rejects.toMatchObject({
        code: 'unknown-benchmark',
        message: expect.stringMatching(
          /Unknown benchmark "arithmetics". Nearest: arithmetic or .*"plugins" in the config of a run/,
        ) as string,
      });
    },
  );

  test('tells all misspelt evaluators at once, each with its key and its nearest', async () => {
    const more = { evaluators: ['arithmetics', 'gsm8k'], infrequentEvaluators: ['gsm9k'] };

    await expect(check(more)).rejects.toThrow(
      /evaluators\[0\]: Unknown benchmark "arithmetics"\. Nearest: arithmetic or \S+\. infrequentEvaluators\[0\]: Unknown benchmark "gsm9k"\. Nearest: gsm8k or \S+\. Known: /,
    );
  });

  test('refuses to hold out more rows than there are', async () => {
    const file = await dataset('{"prompt": "a", "completion": "b"}\n');

    await expect(check({ dataset: { path: file, testSize: 1 } })).rejects.toThrow(
      'dataset.path: testSize 1 leaves nothing to train on: the dataset has 1 rows.',
    );
  });

  test.each([
    ['that is missing', null, 'train.jsonl'],
    ['that is empty', '', 'is empty'],
    ['with a bad row', 'nonsense\n', 'line 1'],
  ])('refuses data %s', async (_, text, expected) => {
    const file = text === null ? path.join(folder, 'train.jsonl') : await dataset(text);

    await expect(check({ dataset: { path: file } })).rejects.toMatchObject({
      code: 'bad-dataset',
      message: expect.stringContaining(expected) as string,
    });
  });

  test.each([
    ['dataset.testPath', (path: string) => ({ dataset: { path: 'GOOD', testPath: path } })],
    ['dataset.path[1]', (path: string) => ({ dataset: { path: ['GOOD', path] } })],
    [
      'evaluators[1].dataset.path',
      (path: string) => ({ evaluators: ['arithmetic', { type: 'nll', name: 'n', dataset: { path } }] }),
    ],
    [
      'schedules[0].evaluators[0].dataset.path',
      (path: string) => ({
        schedules: [{ name: 's', at: [1], evaluators: [{ type: 'nll', name: 'n', dataset: { path } }] }],
      }),
    ],
  ])('names the key %s of data that is missing, and its path once', async (key, more) => {
    const good = await dataset(
      `${JSON.stringify({
        messages: [
          { role: 'user', content: '1+1=' },
          { role: 'assistant', content: '2' },
        ],
      })}\n`,
    );
    const absent = path.join(folder, 'absent.jsonl');
    const config = JSON.parse(
      JSON.stringify({ dataset: { path: 'GOOD' }, ...more(absent) }).replaceAll('GOOD', good),
    ) as object;

    await expect(check(config)).rejects.toMatchObject({
      code: 'bad-dataset',
      message: `${key}: ${absent} does not exist. Correct the path.`,
    });
  });

  test('refuses an evaluator nobody has', async () => {
    await expect(check({ evaluators: ['nope'] })).rejects.toMatchObject({
      message: expect.stringContaining('nope') as string,
    });
  });

  test('refuses two evaluators of one name that differ', async () => {
    const evaluators = ['arithmetic', { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 3 }];

    await expect(check({ evaluators })).rejects.toMatchObject({ code: 'bad-config' });
  });
});

describe('a run that is named alone', () => {
  const train = (...given: string[]) => createCommand().exitOverride().parseAsync(given, { from: 'user' });
  const set =
    "What may change of a run is set while it is under way: `everstep runs set 'my run' KEY=VALUE`.";

  test.each([
    [
      ['--run', 'my run', '--continue', '--set', 'steps=30', '--set', 'x=1'],
      `--continue goes on with a run as it was begun: give --run NAME, and leave out --set steps=30. ${set}`,
    ],
    [
      ['c.yaml', '--run', 'r', '--continue', '--force-new', '--engine', 'http://e'],
      '--continue goes on with a run as it was begun: give --run NAME, and leave out --force-new and the config c.yaml and --engine.',
    ],
    [['--continue'], '--continue goes on with a run as it was begun: give --run NAME.'],
    [
      ['--run', 'my run', '--set', 'steps=30'],
      `--set steps=30 is for a config, and --run my run alone goes on with that run as it was begun. Leave it out. ${set}`,
    ],
    [
      ['--run', 'r', '--engine', 'tinker'],
      '--engine is for a config, and --run r alone goes on with that run as it was begun. Leave it out.',
    ],
  ])('is not changed by %j', async (given, message) => {
    await expect(train(...given)).rejects.toThrow(new DomainError('bad-config', message));
  });
});

describe('exit codes', () => {
  test.each([
    [new DomainError('bad-config', ''), 2],
    [new DomainError('unknown-run', ''), 2],
    [new DomainError('unknown-checkpoint', ''), 2],
    [new DomainError('run-exists', ''), 2],
    [new DomainError('temporal-unavailable', ''), 1],
    [new Error(''), 1],
    [refusalOf({ code: 'unknown-model', message: 'm' }), 2],
    [refusalOf({ code: 'unreachable', message: 'm' }), 1],
    [refusalOf({ code: null, message: 'm' }), 1],
  ])('%p', (error, expected) => {
    expect(exitCodeOf(error)).toBe(expected);
  });
});

describe('output', () => {
  test('with --json standard output has the document alone', () => {
    const { output, stdout, stderr } = recordOutput({ json: true, terminal: true });
    output.line('line');
    output.note('note');
    output.status('bar');
    output.document({ a: 1 });

    expect(JSON.parse(stdout())).toEqual({ a: 1 });
    expect(stderr()).toBe('note\n');
  });

  test('without a terminal there are no bars and no colours', () => {
    const { output, stdout } = recordOutput({ color: true });
    output.status('bar');
    output.line(output.colors.red('red'));
    output.document({ a: 1 });

    expect(stdout()).toBe('red\n');
  });

  test('on a terminal the bar stays below the lines', () => {
    const { output, stdout } = recordOutput({ terminal: true });
    output.status('bar');
    output.line('line');
    output.status(null);

    expect(stdout()).toBe('bar\r\u001b[2Kline\nbar\r\u001b[2K');
  });
});

describe('numbers', () => {
  test.each([
    [{ value: 0.5, stderr: 0.05, n: 100 }, [0.4038, 0.5962]],
    [{ value: 1, stderr: 0, n: 50 }, [0.9287, 1]],
    [{ value: 0, stderr: 0, n: 50 }, [0, 0.0713]],
    [{ value: 2.5, stderr: 0.1, n: 10 }, [2.304, 2.696]],
  ])('95 %% interval of %j', (row, [low, high]) => {
    const interval = confidenceInterval(score(row));

    expect(interval?.[0]).toBeCloseTo(low ?? NaN, 3);
    expect(interval?.[1]).toBeCloseTo(high ?? NaN, 3);
  });

  test('a score without an error has no interval, one without a value a dash', () => {
    expect(scoreText(score({ stderr: null }))).toBe('0.5');
    expect(scoreText(score({ value: null }))).toBe('–');
    expect(scoreText(score({ value: null, error: 'no luck' }))).toBe('failed');
    expect(errorLine(score({ error: 'no\u001b luck\nat line 1' }))).toBe('no\\x1b luck …');
    expect(errorLine(score({ error: 'x'.repeat(500) }))).toHaveLength(160);
    expect(errorLine(score({ error: `${'x'.repeat(500)} at /project/plug.ts:12.` }))).toMatch(
      /^x+…x+ at \/project\/plug\.ts:12\.$/,
    );
  });

  test.each([
    [0, '0'],
    [0.12345, '0.1235'],
    [123.456, '123.46'],
    [1e-5, '1.000e-5'],
    [NaN, 'NaN'],
  ])('%d is written %s', (value, expected) => {
    expect(formatNumber(value)).toBe(expected);
  });

  test.each([
    [59.6, '1m00s'],
    [5, '5s'],
    [3725, '1h02m'],
    [-1, '0s'],
  ])('%d seconds is written %s', (seconds, expected) => {
    expect(duration(seconds)).toBe(expected);
  });

  test('the rate is that of the last moments, and starts anew after a rewind', () => {
    const rate = createRate();
    rate.add(0, 0);
    expect(rate.perSecond()).toBeNull();
    rate.add(10, 1000);
    rate.add(12, 2000);
    expect(rate.perSecond()).toBe(6);
    rate.add(40, 30_000);
    rate.add(41, 31_000);
    expect(rate.perSecond()).toBe(1);
    rate.add(20, 32_000);
    expect(rate.perSecond()).toBeNull();
  });

  test('the rate of slow steps, which come in ones and twos, is that of several', () => {
    const rate = createRate();
    const atSeconds = [0, 14, 15, 29, 30, 44, 45, 59, 60, 74];
    atSeconds.forEach((seconds, step) => {
      rate.add(step, seconds * 1000);
    });
    expect(rate.perSecond()).toBeCloseTo(8 / 60, 1);

    rate.add(9, 80_000);
    expect(rate.perSecond()).toBeCloseTo(8 / 60, 1);
    rate.add(9, 300_000);
    expect(rate.perSecond()).toBeLessThan(0.04);
  });
});

describe('what is shown', () => {
  const report = {
    ...STATE,
    waitingFor: null,
    stopAt: null,
    pause: null,
    pendingEvaluations: 2,
    source: 'workflow' as const,
    note: null,
    refusal: null,
  };

  test('the bar leaves out what does not fit', () => {
    const facts = { report, rate: 4, metrics: { step: 40, 'train/nll': 0.25 }, score: score() };
    const wide = recordOutput({ terminal: true }).output;

    expect(progressLine(facts, { ...wide, columns: 200 })).toBe(
      'one  ━━━━━━━━━━──────────────  40/100  2 evaluations under way  4 steps/s  15s left  nll 0.25  arithmetic accuracy 0.5 [0.4038, 0.5962]',
    );
    expect(progressLine(facts, { ...wide, columns: 60 })).toBe('one  ━━━━━━━━━━──────────────  40/100');
  });

  test('a failed evaluator is a word in the table and a line below it, once', () => {
    const { output, stdout } = recordOutput();
    const failed = { metric: 'error', value: null, error: 'no\u001b[2J luck\nstack' };

    printScores(output, [score({ ...failed, step: 10 }), score({ ...failed, step: 20 })]);

    const lines = stdout().trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/error +failed +100 +evaluators +00:00:01$/);
    expect(lines[3]).toBe('steps 10, 20: arithmetic failed: no\\x1b[2J luck …');
  });

  test('scores fit 100 columns, over several days too', () => {
    const { output, stdout } = recordOutput();
    const long = { evaluator: 'arithmetic-large', schedule: 'infrequentEvaluators', n: 400, value: 0.9725 };

    printScores(output, [
      score({ ...long, step: 1000, stderr: 0.01 }),
      score({ ...long, at: '2026-01-02T00:00:01.123Z' }),
    ]);

    for (const line of stdout().split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });

  test('a run without steps is being prepared', () => {
    const facts = { report: { ...report, totalSteps: 0, step: 0 }, rate: null, metrics: null, score: null };

    expect(progressLine(facts, recordOutput({ terminal: true }).output)).toContain('preparing…');
  });

  test('the summary sets the first score against the last one', () => {
    const { output, stdout } = recordOutput();

    printScoreSummary(output, [
      score({ value: 0.1, stderr: 0.03 }),
      score({ step: 50 }),
      score({ step: 100, value: 0.9, stderr: 0.03 }),
    ]);

    expect(stdout()).toMatch(
      /arithmetic +accuracy +0\.1 \[0\.0552, 0\.1744\] +0\.9 \[0\.8256, 0\.9448\] +100 +0 → 100/,
    );
  });

  test('what the last evaluation does not tell has no final value; one that failed leaves the last one that was measured', () => {
    const { output, stdout } = recordOutput();
    const late = { metric: 'env/all/stop/max_turns', value: 0.25, stderr: null };

    printScoreSummary(output, [
      score({ ...late, evaluator: 'held' }),
      score({ evaluator: 'held', value: 0.9 }),
      score({ evaluator: 'held', step: 10, value: 0.8 }),
      score({ evaluator: 'held', step: 20, metric: 'failed', value: null, error: 'no luck' }),
    ]);

    expect(stdout()).toMatch(/held +env\/all\/stop\/max_turns +0\.25 +– +0\n/);
    expect(stdout()).toMatch(/held +accuracy +0\.9 [^\n]* 0\.8 [^\n]* 100 +0 → 10\n/);
  });
});
