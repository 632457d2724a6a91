import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printPartialScores } from '../../../src/cli/score-tables';
import { withPartialScore } from '../../../src/client/partial-scores';
import type { EvaluationCell } from '../../../src/core/run';
import { meanOf } from '../../../src/core/statistics/mean';
import { Z_95 } from '../../../src/core/statistics/wilson-interval';

const folder = mkdtempSync(join(tmpdir(), 'everstep-partial-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function cellWith(
  evaluator: string,
  status: EvaluationCell['status'],
  rows: readonly object[],
): EvaluationCell {
  const journal = join(folder, 'evals', '8', evaluator, 'journal');
  mkdirSync(journal, { recursive: true });
  writeFileSync(join(journal, 'grades.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return { step: 8, evaluator, schedules: ['often'], status };
}

const JUDGED = [
  { key: 'a', value: 1 },
  { key: 'b', value: 0 },
  { key: 'c', value: 1 },
  { key: 'd', value: 1 },
  { key: 'e!1', value: 0, error: 'timeout' },
];

test('an evaluation under way is told with what it has so far, marked partial', async () => {
  const cell = await withPartialScore(cellWith('sums', 'running', JUDGED), folder);
  const lines: string[] = [];

  printPartialScores({ line: (line: string) => lines.push(line) } as never, [cell]);

  expect(cell.partial).toMatchObject({ isPartial: true, done: 4, value: 0.75 });
  expect(lines.join()).toMatch(/step 8, sums 0\.75.*partial: 4 answers so far/);
});

test('one without a score so far is told as well, and one that is over is not', async () => {
  const lines: string[] = [];
  const cells = (['running', 'pending', 'due', 'done', 'skipped'] as const).map((status, index) => ({
    ...{ step: index, evaluator: 'facts', schedules: ['every'], status },
    ...(status === 'due' && { heardAt: '2026-11-27T03:20:39.701Z' }),
  }));

  printPartialScores({ line: (line: string) => lines.push(line) } as never, cells);

  expect(lines).toEqual([
    'under way: step 0, facts',
    'waits for its turn: step 1, facts',
    'due: step 2, facts, nothing heard since 2026-11-27T03:20:39.701Z',
  ]);
});

test('verdicts that cannot be read are done and in no score, as in the result', async () => {
  const unread = { key: 'f', value: 0, answer: null, metrics: { unparsed: 1 } };
  const some = await withPartialScore(cellWith('some', 'running', [...JUDGED, unread]), folder);
  const none = await withPartialScore(cellWith('none', 'running', [unread]), folder);

  expect(some.partial).toMatchObject({ done: 5, value: 0.75 });
  expect(none.partial).toMatchObject({ done: 1, value: null, interval: null });
});

test('answers that were cut off are no score where no verdict could be read', async () => {
  const unread = { key: 'f', value: 0, answer: null, metrics: { unparsed: 1 } };
  const cut = { key: 'g', value: 0, truncation: 'maxTokens' };
  const none = await withPartialScore(cellWith('cut', 'running', [unread, cut]), folder);
  const onlyCut = await withPartialScore(cellWith('only-cut', 'running', [cut]), folder);

  expect(none.partial).toMatchObject({ done: 2, value: null, interval: null });
  expect(onlyCut.partial).toMatchObject({ done: 1, value: 0 });
});

test.each(['done', 'failed'] as const)('a cell that is %s has no partial score', async (status) => {
  const cell = await withPartialScore(cellWith(`cell-${status}`, status, JUDGED), folder);

  expect(cell.partial).toBeUndefined();
});

test('several samples of an example count as their mean, in the score as in its interval', async () => {
  const row = (example: string, sample: number, value: number) => ({
    ...{ key: `${example}.${sample}`, example_id: example, sample_index: sample, value },
    ...(value < 0 && { value: 0, metrics: { unparsed: 1 } }),
  });
  // Of a, three of three; of b, two of three, one unreadable; of c, one of three so far.
  const samples = [
    ...[row('a', 0, 1), row('a', 1, 1), row('a', 2, 0)],
    ...[row('b', 0, 0), row('b', 1, 1), row('b', 2, -1), row('c', 0, 0)],
  ];
  const cell = await withPartialScore(cellWith('drawn', 'running', samples), folder);
  const mean = (2 / 3 + 1 / 2) / 3;
  const error = meanOf([2 / 3, 1 / 2, 0])?.standardError ?? NaN;

  expect(cell.partial).toMatchObject({ done: 7, value: mean, stderr: error });
  expect(cell.partial?.interval?.[0]).toBe(0);
  expect(cell.partial?.interval?.[1]).toBeCloseTo(mean + Z_95 * error, 12);
});
