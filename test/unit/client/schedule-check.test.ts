import { heldAgainstPin } from '../../../src/client/schedule-check';
import type { CanaryReport, CanaryRequest, CanaryScore } from '../../../src/core/canary';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { askedDigest } from '../../../src/evaluation/canary/judge-firing';
import type { StoredPin } from '../../../src/stores/canary-types';
import type { StoredResult } from '../../../src/stores/eval-store';
import { writeJson } from '../../../src/stores/whole-file';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-check-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const SCORE: CanaryScore = {
  ...{ benchmark: 'sums', score: 0.5, stderr: 0.05, interval: [0.4, 0.6], numExamples: 100, numErrors: 0 },
  ...{ pinned: 0.9, difference: -0.4, method: 'interval', verdict: 'worse', reason: 'moved by -0.4' },
};
const reportOf = (more: Partial<CanaryScore> = {}): CanaryReport => ({
  ...{ schedule: 'nightly', at: '2026-01-02T00:00:00Z', evalRun: 'nightly-2', dir: folder },
  alarm: true,
  scores: [{ ...SCORE, ...more }],
});
const REQUEST: CanaryRequest = {
  name: 'nightly',
  store: '/store',
  benchmarks: ['sums'],
  model: { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model: 'm' },

  asking: {} as CanaryRequest['asking'],
  pin: { type: 'first' },
  band: { type: 'test', level: 0.95 },
  deadlineSeconds: 60,
};
const pinOf = (evalRun: string, score: number): StoredPin => ({
  ...{ at: '2026-01-01T00:00:00Z', evalRun, dir: '/gone', asked: askedDigest(REQUEST) },
  scores: { sums: { score, stderr: 0.05 } },
});

async function writeResult(): Promise<void> {
  const result: Partial<StoredResult> = {
    ...{ name: 'sums', score: 0.5, stderr: 0.05, num_examples: 100, num_errors: 0, higher_is_better: true },
  };
  await writeJson(path.join(folder, 'sums', 'result.json'), result);
}

test('a firing that was pinned after it alarmed does not alarm any more, also without a server', async () => {
  const held = await heldAgainstPin(reportOf(), { pin: pinOf('nightly-2', 0.5), request: null });

  expect(held).toMatchObject({
    alarm: false,
    scores: [{ verdict: 'pinned', pinned: 0.5, difference: null }],
  });
});

test('what failed alarms whatever is pinned', async () => {
  const failed = reportOf({ score: null, verdict: 'failed', reason: 'refused' });

  expect(await heldAgainstPin(failed, { pin: pinOf('nightly-2', 0.5), request: null })).toEqual(failed);
});

test('another firing that is pinned meanwhile is what the newest is held against', async () => {
  await writeResult();

  const near = await heldAgainstPin(reportOf(), { pin: pinOf('nightly-1', 0.52), request: REQUEST });
  const far = await heldAgainstPin(reportOf({ verdict: 'steady' }), {
    pin: pinOf('nightly-1', 0.99),
    request: REQUEST,
  });

  expect(near).toMatchObject({ alarm: false, scores: [{ verdict: 'steady', pinned: 0.52 }] });
  expect(far).toMatchObject({ alarm: true, scores: [{ verdict: 'worse', pinned: 0.99 }] });
});

test.each([
  ['of another question', { ...REQUEST, benchmarks: ['other'] }],
  [
    'of a schedule whose scores were given since',
    { ...REQUEST, pin: { type: 'scores' as const, scores: {} } },
  ],
])('a pin %s counts for nothing', async (_what, request) => {
  const recorded = reportOf();

  expect(await heldAgainstPin(recorded, { pin: pinOf('nightly-1', 0.5), request })).toEqual(recorded);
});
