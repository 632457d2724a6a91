import { createCommand } from '../../../src/cli/commands/schedule';
import { expiryNote, repeatsNote } from '../../../src/cli/commands/schedule-create';
import { printFirings, printSchedules } from '../../../src/cli/commands/schedule-report';
import type { CanaryReport, CanaryScore } from '../../../src/core/canary';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ownIdentity } from '../../../src/stack/process-identity';
import { writeStackRecord } from '../../../src/stack/stack-record';
import { createCanaryStore } from '../../../src/stores/canary-store';
import { recordOutput } from './recording-output';

const SCORE: CanaryScore = {
  ...{ benchmark: 'sums', score: 0.5, stderr: 0.1, interval: [0.31, 0.69], numExamples: 20, numErrors: 0 },
  ...{ pinned: 1, difference: -0.5, method: 'paired', verdict: 'worse', reason: 'moved by -0.5' },
};
const report = (at: string, more: Partial<CanaryScore> = {}): CanaryReport => ({
  ...{ schedule: 'nightly', at, evalRun: `nightly-${at}`, dir: '/evals/x' },
  alarm: (more.verdict ?? SCORE.verdict) === 'worse',
  scores: [{ ...SCORE, ...more }],
});

let folder: string;
let written: string;
const places = () => ['--data-dir', folder, '--store', path.join(folder, 'store')];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-schedule-'));
  written = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = undefined;
});

async function run(...words: string[]): Promise<number | string | undefined> {
  await createCommand().parseAsync([...words, ...places()], { from: 'user' });
  return process.exitCode;
}

async function record(...reports: CanaryReport[]): Promise<void> {
  const store = createCanaryStore(path.join(folder, 'store'), 'nightly');
  for (const [epoch, each] of reports.entries()) await store.record(each, epoch + 1);
}

test('check needs no server, and its exit says whether the newest firing alarms', async () => {
  await record(report('2026-01-01T00:00:00Z'));
  expect(await run('check', 'nightly')).toBe(1);
  expect(written).toContain('nightly alarms: sums: moved by -0.5');

  await record(report('2026-01-01T00:00:00Z'), report('2026-01-01T06:00:00Z', { verdict: 'steady' }));
  expect(await run('check', 'nightly')).toBe(0);
  expect(await run('check', 'nightly', '--max-age', '12h')).toBe(1);
  expect(written).toContain('its newest firing is of 2026-01-01T06:00:00Z');
});

test('check lets no time of a firing steer the terminal', async () => {
  await record(report('9999-99-99\u001b]0;pwn\u0007\u001b[31m', { verdict: 'steady' }));

  expect(await run('check', 'nightly')).toBe(0);

  expect(written).toContain(String.raw`(firing of 9999-99-99\x1b]0;pwn\x07\x1b[31m).`);
  expect(written).not.toContain('\u001b');
});

test('show says of which alarm the webhook was not told, and why', async () => {
  const times = ['2026-01-01T00:00:00Z', '2026-01-01T06:00:00Z', '2026-01-01T12:00:00Z'];
  await record(...times.map((at) => report(at)));
  const store = createCanaryStore(path.join(folder, 'store'), 'nightly');
  const tries = times.flatMap((at, firing) =>
    [1, 2].map((attempt) => ({
      ...{ at, evalRun: report(at).evalRun, attempt, told: firing === 0 && attempt === 2 },
      reason: firing === 0 && attempt === 2 ? null : `answered 50${firing}.`,
    })),
  );
  for (const [epoch, each] of tries.entries()) await store.recordWebhookTry(each, epoch + 1);

  await run('show', 'nightly');

  expect(written).toContain(
    'The webhook was not told of the alarm of 2026-01-01T12:00:00Z in 2 tries, nor of 1 before it: answered 502.',
  );
});

test('show --json has the firings from the store where no server answers', async () => {
  await record(report('2026-01-01T00:00:00Z'));

  expect(await run('show', 'nightly', '--json')).toBe(0);

  expect(JSON.parse(written)).toMatchObject({ schedule: null, firings: [{ alarm: true }] });
});

test.each([
  ['create', 'nightly', '--benchmark', 'gsm8k', '--endpoint', 'http://a/v1', '--model', 'm', '--every', '6h'],
  ['delete', 'nightly', '--yes'],
  ['list'],
  ['trigger', 'nightly'],
])('%s without a server says what to start', async (...words) => {
  await expect(run(...words)).rejects.toMatchObject({ code: 'temporal-unavailable' });
});

test.each([
  [['--pin', '0.5', '--pin-first'], 'give one of the two'],
  [['--pin', 'high'], '--pin high'],
  [['--band', 'narrow'], '--band narrow'],
  [['--webhook-header', 'novalue'], 'NAME=VALUE'],
])('create %j is refused before a server is looked for', async (words, message) => {
  const asked = [
    'create',
    'n',
    '--benchmark',
    'gsm8k',
    '--endpoint',
    'http://a/v1',
    '--model',
    'm',
    '--every',
    '6h',
  ];

  await expect(run(...asked, ...words)).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining(message) as string,
  });
});

test.each([
  [{ webhook: 'http://a/hook', every: '60s' }, true],
  [{ webhook: 'http://a/hook' }, true],
  [{ webhook: 'http://a/hook', every: '6h' }, false],
  [{ every: '60s' }, false],
])('of %j it is said that the repeats of a webhook may leave firings out: %j', (options, isSaid) => {
  const note = repeatsNote(options);

  expect(note === null).toBe(!isSaid);
  if (isSaid) expect(note).toMatch(/up to 5 minutes\. One that is due meanwhile is left out/);
});

test.each([
  [false, /^It has not fired yet\.$/],
  [true, /^No firing has ended yet, and one is under way\. How far it is: .*everstep results list$/],
])('before any firing has ended, one under way is told of: %j', (isFiring, told) => {
  const { output, stdout } = recordOutput();

  printFirings([], { isFiring }, output);

  expect(stdout().trim()).toMatch(told);
});

test('tables show what each firing came to, and names cannot steer the terminal', () => {
  const { output, stdout } = recordOutput();

  printFirings([report('2026-01-01T00:00:00Z', { reason: 'a\u001b[31mb' })], { isFiring: false }, output);
  printSchedules(
    [
      {
        ...{
          name: 'nightly',
          cadence: 'every 6h',
          benchmarks: ['sums'],
          model: 'm\u001b[2J',
          isPaused: true,
        },
        ...{ nextAt: null, latest: report('2026-01-01T00:00:00Z') },
      },
    ],
    output,
  );

  expect(stdout()).toMatch(/2026-01-01T00:00:00Z +sums +0\.5 +\[0\.31, 0\.69\] +20 +worse/);
  expect(stdout()).toContain('The newest firing alarms: worse.');
  expect(stdout()).toMatch(/nightly +every 6h, paused/);
  expect(stdout()).not.toContain('\u001b');
});

test('an endpoint where nobody listens gets no schedule', async () => {
  writeStackRecord(folder, {
    ...ownIdentity(),
    ...{ ready: true, kind: 'dev', uiUrl: null, engineUrl: 'http://127.0.0.1:9', children: [] },
    ...{ temporalAddress: '127.0.0.1:9', namespace: 'everstep', store: path.join(folder, 'store') },
  });
  const model = ['--model', 'm', '--endpoint', 'http://127.0.0.1:1/v1', '--every', '6h'];

  await expect(run('create', 'nightly', '--benchmark', 'gsm8k', ...model)).rejects.toThrow(
    /^The endpoint at http:\/\/127\.0\.0\.1:1\/v1 cannot be reached .* No schedule was made/,
  );
});

test('what keeps the checkpoint names the one that was pinned', () => {
  const model = { type: 'engine', model: 'm', path: 'tinker://m/s/30', label: 'long@30' } as const;

  for (const asked of ['long', 'long@30'])
    expect(expiryNote(asked, model)).toContain('runs promote long@30`');
  for (const asked of [undefined, 'long@best', 'tinker://m/s/30'])
    expect(expiryNote(asked, model)).toBeNull();
});
