import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCanaryStore } from '../../../src/stores/canary-store';

const FIRING = {
  ...{ at: '2026-11-29T00:00:00Z', evalRun: 'c1-1', schedule: 'c1', dir: '/evals/c1-1', alarm: false },
  scores: [
    {
      ...{ benchmark: 'sums', score: 0.5, stderr: null, interval: [0.4, 0.6], numExamples: 2, numErrors: 0 },
      ...{ pinned: null, difference: null, method: null, verdict: 'pinned', reason: 'the first' },
    },
  ],
};
const PIN = {
  ...{ at: FIRING.at, evalRun: 'c1-1', dir: '/evals/c1-1', asked: 'x' },
  scores: { sums: { score: 0.5, stderr: 0.1 } },
};

let store: string;

beforeEach(() => {
  store = mkdtempSync(path.join(tmpdir(), 'everstep-canary-store-'));
});

afterEach(() => {
  rmSync(store, { recursive: true, force: true });
});

function put(name: string, ...rows: readonly unknown[]): void {
  const folder = path.join(store, 'schedules/c1');
  mkdirSync(folder, { recursive: true });
  const lines = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row)));
  writeFileSync(path.join(folder, name), lines.map((line) => `${line}\n`).join(''));
}

const withScore = (change: object) => ({ ...FIRING, scores: [{ ...FIRING.scores[0], ...change }] });

test.each([
  ['without scores', { schedule: 'c1', evalRun: 'x' }],
  ['with a number for a time', { ...FIRING, at: 5 }],
  ['nested without end', `{"at":"x","scores":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['whose score is a text', withScore({ score: '0.5' })],
  [
    'whose score is beyond all numbers',
    JSON.stringify(withScore({ score: 7 })).replace('"score":7', '"score":1e400'),
  ],
  ['whose interval has one end', withScore({ interval: [1] })],
  ['whose scores are none', { ...FIRING, scores: [null] }],
])('a firing %s is passed over, and the others stand', async (_what, row) => {
  put('firings.jsonl', row, FIRING);
  put('alarms.jsonl', row, FIRING);
  const canary = createCanaryStore(store, 'c1');

  expect(await canary.readFirings()).toEqual([FIRING]);
  expect(await canary.readAlarms()).toEqual([FIRING]);
});

test('so is a try of a webhook', async () => {
  const told = { at: FIRING.at, evalRun: 'c1-1', attempt: 1, told: false, reason: 'refused' };
  put('webhooks.jsonl', { ...told, attempt: 'x' }, { ...told, at: null }, told);

  expect(await createCanaryStore(store, 'c1').readWebhookTries()).toEqual([told]);
});

test.each([
  ['no scores', { ...PIN, scores: null }, '"scores" has to hold'],
  ['scores that are texts', { ...PIN, scores: { sums: '0.5' } }, '"scores" has to hold'],
  ['no time', { ...PIN, at: 5 }, '"at" has to be a text'],
])('a pin with %s is refused by its path, and never replaced', async (_what, pin, fault) => {
  put('pin.json', pin);

  const reading = createCanaryStore(store, 'c1').readPin();

  await expect(reading).rejects.toMatchObject({ code: 'store-conflict', retryable: false });
  await expect(reading).rejects.toThrow(`schedules/c1/pin.json" is damaged: ${fault}`);
});

test('what was written is read', async () => {
  const canary = createCanaryStore(store, 'c1');
  await canary.writePin(PIN);

  expect(await canary.readPin()).toEqual(PIN);
  expect(await createCanaryStore(store, 'other').readPin()).toBeNull();
});
