import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CanaryRequest } from '../../../../src/core/canary';
import { firingOf } from '../../../../src/core/canary';
import { judgeFiring } from '../../../../src/evaluation/canary/judge-firing';

let store: string;
beforeEach(() => {
  store = mkdtempSync(path.join(tmpdir(), 'everstep-canary-'));
});
afterEach(() => {
  rmSync(store, { recursive: true, force: true });
});

function requestOf(more: Partial<CanaryRequest> = {}): CanaryRequest {
  return {
    name: 'nightly',
    store,
    benchmarks: ['sums'],
    model: { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model: 'm' },
    asking: { numSamples: 1, concurrency: 4, agentConcurrency: 1 },
    pin: { type: 'first' },
    band: { type: 'test', level: 0.95 },
    deadlineSeconds: 60,
    ...more,
  };
}

const IDENTITY = {
  benchmarkVersion: 1,
  dataHash: 'data',
  promptHash: 'prompt',
  graderVersion: '1',
  sampling: { temperature: 0 },
  model: 'm',
  checkpoint: '',
};

interface Written {
  readonly rewards: readonly (readonly number[])[];
  readonly errors?: number;
  readonly identity?: object;
  readonly withoutExamples?: boolean;
  /** What examples hang together by, so many of them each. */
  readonly clusterSize?: number;
  /** Of the examples, those whose verdicts cannot be read. */
  readonly unread?: number;
  /** Of each of the first so many examples, one more sample whose verdict cannot be read. */
  readonly unreadSamples?: number;
}

/** A firing's results; each inner list holds the samples of an example. */
async function fire(second: number, written: Written | null, request = requestOf()) {
  const firing = firingOf(request.name, new Date(Date.UTC(2026, 0, 1, 0, 0, second)));
  const failure = written === null ? 'the endpoint refused the model' : null;
  if (written) write(path.join(store, 'evals', firing.evalRun, 'sums'), written);
  return judgeFiring({ request, firing, outcomes: [{ benchmark: 'sums', failure }] }, 1);
}

function write(folder: string, { rewards, errors = 0, identity = {}, ...shape }: Written): void {
  mkdirSync(folder, { recursive: true });
  const samples = rewards.flatMap((each, index) =>
    each.map((reward, sample) => ({ idx: index, example_id: `e${index}`, sample_index: sample, reward })),
  );
  const unread = rewards.slice(0, shape.unreadSamples ?? 0).map((_, index) => ({
    ...{ idx: index, example_id: `e${index}`, sample_index: 9, reward: 0, metrics: { unparsed: 1 } },
  }));
  const score = samples.reduce((sum, { reward }) => sum + reward, 0) / samples.length;
  const result = {
    ...{ name: 'sums', score, stderr: Math.sqrt((score * (1 - score)) / rewards.length), ci: [0, 1] },
    ...{
      num_examples: rewards.length + (shape.unread ?? 0),
      num_completed: rewards.length,
      num_correct: score * rewards.length,
    },
    ...{ num_errors: errors, num_truncated: 0, time_seconds: 1, pass_at_k: {} },
    metrics: shape.unread === undefined ? {} : { num_unparsed: shape.unread },
    identity: { ...IDENTITY, ...identity },
  };
  writeFileSync(path.join(folder, 'result.json'), JSON.stringify(result));
  if (shape.withoutExamples) return;
  const { clusterSize } = shape;
  const lines = [...samples, ...unread].map((sample) =>
    JSON.stringify({
      benchmark: 'sums',
      turns: [],
      metrics: {},
      ...sample,
      logs: clusterSize === undefined ? {} : { cluster: `text ${Math.floor(sample.idx / clusterSize)}` },
      error: null,
      time_seconds: 0,
    }),
  );
  writeFileSync(path.join(folder, 'trajectories.jsonl'), `${lines.join('\n')}\n`);
}

const right = (count: number, of = 40): Written => ({
  rewards: Array.from({ length: of }, (_, index) => [index < count ? 1 : 0]),
});
const rows = (name: string) =>
  readFileSync(path.join(store, 'schedules/nightly', name), 'utf8')
    .trim()
    .split('\n');

test('the first whole firing is pinned; what chance makes stays within the band, what it does not alarms', async () => {
  const verdicts: string[] = [];
  for (const [second, count] of [30, 30, 28, 20].entries()) {
    const { alarm, scores } = await fire(second, right(count));
    verdicts.push(`${scores[0]?.verdict ?? ''}${alarm ? '!' : ''}`);
  }

  expect(verdicts).toEqual(['pinned', 'steady', 'steady', 'worse!']);
  expect(rows('firings.jsonl')).toHaveLength(4);
  expect(rows('alarms.jsonl')).toHaveLength(1);
});

test('examples about one text count as one: ten of them that change together are no trend', async () => {
  const clustered = (count: number) => ({ ...right(count), clusterSize: 10 });
  await fire(0, clustered(40));

  const together = await fire(1, clustered(30));

  expect(together).toMatchObject({ alarm: false, scores: [{ verdict: 'steady', method: 'paired' }] });
});

test('repeated, a firing comes to the same and is written once', async () => {
  await fire(0, right(30));
  const first = await fire(1, right(10));
  const again = await fire(1, right(10));

  expect(again).toEqual(first);
  expect(rows('firings.jsonl')).toHaveLength(2);
  expect(rows('alarms.jsonl')).toHaveLength(1);
});

test('a firing whose examples failed is not pinned', async () => {
  const first = await fire(0, { ...right(10), errors: 3 });
  const second = await fire(1, right(30));

  expect(first).toMatchObject({ alarm: false, scores: [{ verdict: 'unpinned' }] });
  expect(second).toMatchObject({ scores: [{ verdict: 'pinned', pinned: 0.75 }] });
});

test('a firing without a score alarms and says why', async () => {
  expect(await fire(0, null)).toMatchObject({
    alarm: true,
    scores: [{ verdict: 'failed', score: null, reason: 'the endpoint refused the model' }],
  });
});

test('another prompt than the pinned one is no score to compare with', async () => {
  await fire(0, right(30));

  const report = await fire(1, { ...right(30), identity: { promptHash: 'other' } });

  expect(report).toMatchObject({ alarm: true, scores: [{ verdict: 'changed', difference: null }] });
  expect(report.scores[0]?.reason).toContain('promptHash');
  expect(report.scores[0]?.reason).toContain(`pin anew with \`everstep schedule pin ${report.schedule}\``);
});

test('a schedule that asks something else pins anew', async () => {
  await fire(0, right(30));

  const other = requestOf({ asking: { numSamples: 1, concurrency: 4, agentConcurrency: 1, temperature: 1 } });

  expect(await fire(1, right(10), other)).toMatchObject({ scores: [{ verdict: 'pinned' }] });
});

test('how fast it asks makes no difference to what is pinned', async () => {
  await fire(0, right(30));

  const faster = requestOf({ asking: { numSamples: 1, concurrency: 64, agentConcurrency: 8 } });

  expect(await fire(1, right(30), faster)).toMatchObject({ scores: [{ verdict: 'steady' }] });
});

test.each(['now', 'then'])('without the examples of %s the intervals decide', async (when) => {
  await fire(0, { ...right(30), withoutExamples: when === 'then' });

  const near = await fire(1, { ...right(24), withoutExamples: when === 'now' });
  const far = await fire(2, { ...right(10), withoutExamples: when === 'now' });

  expect(near.scores[0]).toMatchObject({ method: 'interval', verdict: 'steady' });
  expect(far.scores[0]).toMatchObject({ method: 'interval', verdict: 'worse' });
});

test('verdicts that cannot be read are none of the examples a score is judged on', async () => {
  const request = requestOf({ pin: { type: 'scores', scores: { sums: 0.85 } } });

  const report = await fire(0, { ...right(20, 20), unread: 20, withoutExamples: true }, request);

  // Wilson's interval of 20 of 20 begins at 0.839, that of 40 of 40 at 0.912.
  expect(report.scores[0]).toMatchObject({ method: 'interval', verdict: 'steady', numExamples: 20 });
  expect(report.scores[0]?.reason).toContain('now 1 on 20 examples');
});

test('the noise floor is what the samples of the pinned firing differ by', async () => {
  const request = requestOf({ band: { type: 'noise-floor', level: 0.95 } });
  const samples = (flips: number): Written => ({
    rewards: Array.from({ length: 100 }, (_, index) => (index < flips ? [1, 0] : [1, 1])),
  });
  // Variance 1/2 in 20 of 100 examples, two samples each: 1.96 · √(2 · 0.1 / 200) = 0.062.
  await fire(0, samples(20), request);

  const within = await fire(1, samples(32), request);
  const beyond = await fire(2, samples(34), request);

  expect(within.scores[0]).toMatchObject({ method: 'noise-floor', verdict: 'steady' });
  expect(beyond.scores[0]).toMatchObject({ method: 'noise-floor', verdict: 'worse' });
});

test('verdicts that cannot be read are no noise', async () => {
  const request = requestOf({ band: { type: 'noise-floor', level: 0.95 } });
  const steady = (rightCount: number): Written => ({
    rewards: Array.from({ length: 100 }, (_, index) => (index < rightCount ? [1, 1] : [0, 0])),
  });
  // Two samples of each agree; as zeros the others would make a floor of 0.1.
  await fire(0, { ...steady(90), unreadSamples: 90 }, request);

  const report = await fire(1, steady(88), request);

  expect(report.scores[0]).toMatchObject({ method: 'noise-floor', verdict: 'worse' });
});
