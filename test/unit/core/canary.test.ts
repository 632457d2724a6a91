import { firingOf } from '../../../src/core/canary';
import { judgeByFloor, judgeByInterval, judgePaired } from '../../../src/core/canary-verdict';
import { isWebhookVariable, refuseWebhookAddress } from '../../../src/core/canary-webhook';
import { isValidName } from '../../../src/core/names';

const PAIRED = { difference: -0.1, wins: 2, losses: 12, higherIsBetter: true };

test.each([
  [0.04, 0.95, 'worse'],
  [0.06, 0.95, 'steady'],
  [0.04, 0.99, 'steady'],
])('a difference that chance makes with p %s leaves a band of %s: %s', (pValue, level, verdict) => {
  expect(judgePaired({ ...PAIRED, pValue }, level)).toMatchObject({ verdict, method: 'paired' });
});

test('a loss that rises is worse, though the number is larger', () => {
  const facts = { ...PAIRED, difference: 0.1, higherIsBetter: false, pValue: 0.001 };

  expect(judgePaired(facts, 0.95).verdict).toBe('worse');
  expect(judgeByFloor({ difference: 0.1, higherIsBetter: false }, 0.05).verdict).toBe('worse');
  expect(judgeByFloor({ difference: 0.05, higherIsBetter: true }, 0.05).verdict).toBe('steady');
});

const now = (
  score: number,
  numExamples: number,
  stderr: number | null = Math.sqrt((score * (1 - score)) / numExamples),
) => ({
  ...{ score, stderr, numExamples, higherIsBetter: true },
});

test.each([
  // Wilson at 50 of 100: [0.404, 0.596].
  ['inside', now(0.5, 100), 0.41, 0.95, 'steady'],
  ['outside', now(0.5, 100), 0.6, 0.95, 'worse'],
  ['inside a wider band', now(0.5, 100), 0.6, 0.99, 'steady'],
  // All right: the standard error is 0, and the interval still is [0.963, 1].
  ['near to all right', now(1, 100, 0), 0.97, 0.95, 'steady'],
  ['far from all right', now(1, 100, 0), 0.9, 0.95, 'better'],
  ['a mean of other numbers', now(2.5, 100, 0.1), 2.6, 0.95, 'steady'],
  ['a mean far away', now(2.5, 100, 0.1), 2.9, 0.95, 'worse'],
  ['one example, the same', now(0.3, 1, null), 0.3, 0.95, 'steady'],
  ['one example, another', now(0.3, 1, null), 0.5, 0.95, 'steady'],
])('a given score %s: %#', (_what, score, pinned, level, verdict) => {
  expect(judgeByInterval(score, { score: pinned, stderr: null }, level).verdict).toBe(verdict);
});

test('a pinned score without its examples has a spread of its own', () => {
  const alone = judgeByInterval(now(0.5, 100), { score: 0.61, stderr: null }, 0.95);
  const both = judgeByInterval(now(0.5, 100), { score: 0.61, stderr: 0.05 }, 0.95);

  expect([alone.verdict, both.verdict]).toEqual(['worse', 'steady']);
});

test('a firing is named by the second it was due, and its name is one of an eval run', () => {
  const { at, evalRun } = firingOf('nightly', new Date('2026-11-21T22:00:00.123Z'));

  expect([at, evalRun]).toEqual(['2026-11-21T22:00:00Z', 'nightly-20261121T220000Z']);
  expect(isValidName(firingOf('n'.repeat(80), new Date()).evalRun)).toBe(true);
});

test('only variables that are meant for it are sent', () => {
  expect(isWebhookVariable('EVERSTEP_WEBHOOK_TOKEN')).toBe(true);
  for (const name of [
    'OPENAI_API_KEY',
    'EVERSTEP_WEBHOOK_',
    'XEVERSTEP_WEBHOOK_A',
    'EVERSTEP_WEBHOOK_A\nB',
  ]) {
    expect(isWebhookVariable(name)).toBe(false);
  }
});

test.each([
  ['https://hooks.example.org/a/b', true],
  ['http://127.0.0.1:8080', true],
  ['ftp://example.org', false],
  ['file:///etc/passwd', false],
  ['https://user:secret@example.org', false],
  ['https://', false],
  ['https://example.org/a b', false],
])('%s is taken: %s', (address, isTaken) => {
  const problem = refuseWebhookAddress(address);

  expect(problem === null).toBe(isTaken);
  expect(problem ?? '').not.toContain('secret');
});
