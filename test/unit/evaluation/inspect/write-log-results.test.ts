import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { wilsonInterval } from '../../../../src/core/statistics/wilson-interval';
import { LoggedSample, LogHeader } from '../../../../src/evaluation/inspect/log/log-schema';
import { writeLogResults } from '../../../../src/evaluation/inspect/log/write-log-results';

const IDENTITY = {
  ...{ benchmarkVersion: 1, dataHash: 'd', promptHash: 'p', graderVersion: 'inspect:t' },
  ...{ sampling: {}, model: 'm', checkpoint: '' },
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everstep-log-results-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Values of each example's draws; null where one ended in an error. */
function written(
  examples: readonly (readonly (number | null)[])[],
  score: number,
  stderr: number,
  idOf = (index: number): string | number => index,
) {
  const epochs = examples[0]?.length ?? 1;
  const all = examples.flatMap((values, index) => values.map((value, draw) => ({ index, draw, value })));
  const metrics = Object.fromEntries(
    Object.entries({ accuracy: score, stderr }).map(([name, value]) => [name, { name, value }]),
  );
  const scored = { name: 'match', scorer: 'match', scored_samples: all.length, unscored_samples: 0, metrics };
  const header = LogHeader.parse({
    status: 'success',
    eval: { ...{ task: 't', created: '2026-01-01T00:00:00+00:00', model: 'm' }, config: { epochs } },
    stats: { started_at: '2026-01-01T10:00:00+00:00', completed_at: '2026-01-01T10:00:07.500+00:00' },
    results: { total_samples: all.length, completed_samples: all.length, scores: [scored] },
  });
  const samples = all.map(({ index, draw, value }) =>
    LoggedSample.parse({
      ...{ id: idOf(index), epoch: draw + 1, input: 'q', total_time: 100 },
      ...(value === null ? { error: { message: 'failed' } } : { scores: { match: { value } } }),
    }),
  );
  const log = {
    ...{ path: 'log.eval', header, close: () => undefined },
    async *samples() {
      yield* samples;
    },
  };
  return writeLogResults(log, { name: 't', folder, identity: IDENTITY });
}

test('the time is from start to end, however many samples ran beside each other', async () => {
  expect((await written([[1], [0], [1]], 2 / 3, 0.33)).time_seconds).toBe(7.5);
});

test('none of sixteen right is no certainty', async () => {
  const sixteen = Array.from({ length: 16 }, () => [0]);

  expect((await written(sixteen, 0, 0)).ci).toEqual(wilsonInterval(0, 16));
});

test('samples of one example hang together', async () => {
  const none = await written(
    Array.from({ length: 8 }, () => [0, 0]),
    0,
    0,
  );
  const half = await written(
    [
      [1, 0],
      [1, 1],
      [0, 0],
      [0, 1],
    ],
    0.5,
    0.2,
  );

  expect(none.ci).toEqual(wilsonInterval(0, 8));
  expect(half.ci?.map((end) => end.toFixed(3))).toEqual(['0.108', '0.892']);
});

test.each([
  [
    'right or wrong, some draws lost',
    [
      [1, null],
      [0, 0],
      [0, 0],
      [0, 0],
    ],
    0.25,
    0.25,
  ],
  ['right in part', [[0.5], [0], [0], [0]], 0.125, 0.125],
])('an interval of values from 0 to 1 ends there: %s', async (_, examples, score, stderr) => {
  const low = await written(examples, score, stderr);
  const high = await written(
    examples.map((values) => values.map((value) => (value === null ? null : 1 - value))),
    1 - score,
    stderr,
  );

  expect(low.ci?.[0]).toBe(0);
  expect(high.ci?.[1]).toBe(1);
});

test('an interval of values beyond 0 and 1 is not cut', async () => {
  const { ci } = await written([[-3], [3]], 0, 3);

  expect(ci?.map((end) => end.toFixed(2))).toEqual(['-5.88', '5.88']);
});

test('epochs give pass@k and pass^k over the draws that were scored', async () => {
  const result = await written(
    [
      [1, 0, 0, 0],
      [0, 0, 0, 0],
      [1, 1, null, null],
    ],
    0.375,
    0.3,
  );

  expect(result.pass_at_k).toEqual({ '1': (0.25 + 0 + 1) / 3, '2': (0.5 + 0 + 1) / 3, '4': 0.5 });
  expect(result.metrics).toMatchObject({
    'pass_hat_k/1': (0.25 + 0 + 1) / 3,
    'pass_hat_k/2': (0 + 0 + 1) / 3,
    'pass_hat_k/4': 0,
  });
});

test('there is neither pass@k nor pass^k of scores that lie between right and wrong, nor of one draw', async () => {
  const between = await written([[0.5, 1]], 0.75, 0.1);
  const drawnOnce = await written([[1], [0]], 0.5, 0.5);

  expect([between, drawnOnce].map(({ pass_at_k }) => pass_at_k)).toEqual([{}, {}]);
  expect(between.metrics).toEqual({ accuracy: 0.75, stderr: 0.1 });
  expect(drawnOnce.metrics).toEqual({ accuracy: 0.5, stderr: 0.5 });
});

test('a log that has a sample twice is refused, and leaves nothing behind', async () => {
  const twice = written([[1], [1]], 1, 0, (index) => ['7', 7][index] ?? index);

  await expect(twice).rejects.toThrow('log.eval: sample 7 of epoch 1 is in it twice');
  expect(await readdir(folder)).toEqual([]);
});
