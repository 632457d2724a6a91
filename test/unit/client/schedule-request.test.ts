import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CanaryOptions } from '../../../src/client/schedule-request';
import { prepareSchedule } from '../../../src/client/schedule-request';
import { createRunStore } from '../../../src/stores/run-store';

let store: string;
beforeAll(() => {
  store = mkdtempSync(path.join(tmpdir(), 'everstep-schedule-'));
});
afterAll(() => {
  rmSync(store, { recursive: true, force: true });
});

const ASKED: CanaryOptions = {
  benchmarks: ['gsm8k'],
  endpoint: 'http://127.0.0.1:8000/v1',
  model: 'm',
  every: '6h',
};
const prepare = (more: Partial<CanaryOptions>, name = 'nightly') =>
  prepareSchedule(name, { ...ASKED, ...more }, { records: createRunStore(store), store });

test('completes what is left out', async () => {
  const { request, cadence } = await prepare({ dataFolder: '/data' });

  expect(cadence).toEqual({ everySeconds: 21_600 });
  expect(request).toMatchObject({
    name: 'nightly',
    store,
    benchmarks: ['gsm8k'],
    pin: { type: 'first' },
    band: { type: 'test', level: 0.95 },
    deadlineSeconds: 21_600,
    asking: { numSamples: 1, dataFolder: '/data' },
  });
  expect(request).not.toHaveProperty('webhook');
});

test.each<[string, Partial<CanaryOptions>, number]>([
  ['an hour at least', { every: '1m' }, 3600],
  ['a day at most', { every: '30d' }, 86_400],
  ['a day with cron', { every: undefined, cron: '@daily' }, 86_400],
  ['as told', { deadline: '90s' }, 90],
])('the deadline is %s', async (_what, more, expected) => {
  expect((await prepare(more)).request.deadlineSeconds).toBe(expected);
});

test('scores are pinned by benchmark, hyphens or not', async () => {
  const one = await prepare({ pin: 0.5 });
  const two = await prepare({ benchmarks: ['gsm8k', 'mmlu_pro'], pin: { gsm8k: 0.5, 'mmlu-pro': 0.4 } });

  expect(one.request.pin).toEqual({ type: 'scores', scores: { gsm8k: 0.5 } });
  expect(two.request.pin).toEqual({ type: 'scores', scores: { gsm8k: 0.5, mmlu_pro: 0.4 } });
});

test('the webhook is kept without its secrets', async () => {
  const { request } = await prepare({
    webhook: 'env:EVERSTEP_WEBHOOK_URL',
    webhookHeaders: { Authorization: 'EVERSTEP_WEBHOOK_TOKEN' },
  });

  expect(request.webhook).toEqual({
    url: { type: 'variable', value: 'EVERSTEP_WEBHOOK_URL' },
    headers: { Authorization: 'EVERSTEP_WEBHOOK_TOKEN' },
  });
});

test.each<[string, Partial<CanaryOptions>, string]>([
  ['no benchmark', { benchmarks: [] }, 'Name a benchmark'],
  ['no cadence', { every: undefined }, '--every 6h, or --cron'],
  ['two cadences', { cron: '@daily' }, 'One of the two'],
  ['a cadence that is none', { every: 'often' }, '--every often'],
  ['one too seldom', { every: '99999d' }, 'the most is 366d'],
  ['one too often', { every: '1s' }, 'the least is 10s'],
  ['a time zone without cron', { timezone: 'Europe/Berlin' }, '--timezone goes with --cron'],
  ['cron with three fields', { every: undefined, cron: '* * *' }, 'five fields'],
  ['one score for two benchmarks', { benchmarks: ['gsm8k', 'ifeval'], pin: 0.5 }, 'of which benchmark'],
  ['a score too few', { benchmarks: ['gsm8k', 'ifeval'], pin: { gsm8k: 1 } }, 'none for ifeval'],
  ['a score too many', { pin: { gsm8k: 1, ifeval: 1 } }, 'unknown: ifeval'],
  ['a score that is none', { pin: NaN }, 'give a number'],
  ['a band of everything', { band: 1 }, 'from 0.5 to below 1'],
  ['a noise floor of single samples', { band: 'noise-floor' }, 'add --samples 2'],
  ['a noise floor of a score', { band: 'noise-floor', numSamples: 2, pin: 0.5 }, '--pin-first'],
  ['no deadline', { deadline: '0s' }, '--deadline 0s'],
  ['two models', { checkpoint: 'run@1' }, 'one model'],
  ['a file as webhook', { webhook: 'file:///etc/passwd' }, 'http or https'],
  [
    'a webhook with a key in its query',
    { webhook: 'http://h/hook?token=very-private' },
    '--webhook: the address holds a key (its parameter token), and schedules are stored. Put the address into a variable of the workers, and give env:EVERSTEP_WEBHOOK_NAME.',
  ],
  ['another variable', { webhook: 'env:OPENAI_API_KEY' }, 'EVERSTEP_WEBHOOK_'],
  [
    'a secret as header',
    { webhook: 'https://a.b', webhookHeaders: { 'X-Key': 'sk-1' } },
    'HEADER=EVERSTEP_WEBHOOK',
  ],
  [
    'a header with a line break',
    { webhook: 'https://a.b', webhookHeaders: { 'X\n': 'EVERSTEP_WEBHOOK_A' } },
    '--webhook-header',
  ],
  [
    'headers without webhook',
    { webhookHeaders: { 'X-Key': 'EVERSTEP_WEBHOOK_A' } },
    '--webhook-header goes with',
  ],
])('refuses %s', async (_what, more, words) => {
  const refusal = await prepare(more).catch((error: unknown) => error);

  expect(refusal).toMatchObject({ code: 'bad-config', message: expect.stringContaining(words) as string });
});

test.each(['../up', 'a/b', '', 'n'.repeat(81)])('refuses the name %j', async (name) => {
  await expect(prepare({}, name)).rejects.toMatchObject({ code: 'bad-config' });
});

test.each<[string, Partial<CanaryOptions>, RegExp]>([
  ['a score of the catalogue above 1', { pin: 1.5 }, /--pin 1.5: scores of gsm8k lie between 0 and 1/],
  ['one in per cent, with what it means', { pin: 62 }, /62 % is 0.62/],
  ['one below 0', { pin: { gsm8k: -0.1 } }, /--pin -0.1/],
  [
    'a run that nobody knows',
    { endpoint: undefined, model: undefined, checkpoint: 'nosuch@3' },
    /^Unknown run "nosuch". The store has no runs yet/,
  ],
])('refuses %s', async (_what, more, expected) => {
  await expect(prepare(more)).rejects.toThrow(expected);
});

test('scores of other benchmarks may lie anywhere', async () => {
  const { request } = await prepare({ benchmarks: ['of_a_plugin'], pin: 12 });

  expect(request.pin).toEqual({ type: 'scores', scores: { of_a_plugin: 12 } });
});
