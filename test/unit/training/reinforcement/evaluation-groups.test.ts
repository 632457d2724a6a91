import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  listEvaluationPlaces,
  readEvaluationGroups,
} from '../../../../src/training/reinforcement/evaluation-groups';
import { evaluationPage, writeEvaluationPage } from '../../../../src/training/reinforcement/evaluation-page';
import { openRolloutFiles } from '../../../../src/training/rollouts/rollout-files';
import { groupOf, rolloutOf } from './sampled-groups';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-evaluation-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function storeRollouts(cell: string, count: number): Promise<void> {
  const files = openRolloutFiles(cell);
  for (let group = 0; group < count; group++) {
    await files.write(
      { step: 0, group },
      groupOf(`p${group}`, [rolloutOf(group % 2, [5], `<b>${group}</b>`)]),
    );
  }
}

function storeTrajectories(cell: string, rows: readonly object[]): void {
  mkdirSync(cell, { recursive: true });
  writeFileSync(join(cell, 'trajectories.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

const trajectory = (exampleId: string, over: object = {}) => ({
  idx: 0,
  benchmark: 'quiz',
  example_id: exampleId,
  turns: [
    { role: 'user', content: `ask ${exampleId}`, token_count: 3, metadata: {} },
    { role: 'assistant', content: 'call', token_count: 2, metadata: { stop_reason: 'stop' } },
    { role: 'environment', content: 'found', token_count: 0, metadata: { role: 'tool' } },
    { role: 'assistant', content: 'said', token_count: 4, metadata: { stop_reason: 'stop' } },
    { role: 'grader', content: '', token_count: 0, metadata: { value: 1, answer: 'said' } },
  ],
  reward: 1,
  metrics: { correct: 1 },
  logs: { example_id: exampleId, target: 'said', answer: null },
  error: null,
  time_seconds: 1,
  ...over,
});

test('reads the rollouts of held-out problems, as many as are asked for', async () => {
  await storeRollouts(folder, 3);

  const { groups, total } = await readEvaluationGroups(folder, 2);

  expect(total).toBe(3);
  expect(groups.map(({ group, id }) => [group, id])).toEqual([
    [0, 'p0'],
    [1, 'p1'],
  ]);
  expect(groups[1]?.rollouts).toMatchObject([
    { reward: 1, stopReason: 'completed', turns: 1, tokens: 1, messages: [{}, { text: '<b>1</b>' }] },
  ]);
});

test("reads a benchmark's trajectories, samples of one example as one group", async () => {
  storeTrajectories(folder, [
    trajectory('a', { sample_index: 0 }),
    trajectory('a', { sample_index: 1, reward: 0, metrics: { correct: 0, max_tokens_reached: 1 } }),
    trajectory('b', { error: 'grader died', turns: [] }),
  ]);

  const { groups, total } = await readEvaluationGroups(folder);

  expect(total).toBe(2);
  expect(groups).toMatchObject([
    {
      id: 'a',
      tags: ['quiz'],
      errors: [],
      rollouts: [
        { reward: 1, stopReason: 'completed', turns: 2, tokens: 6, logs: { target: 'said' } },
        { reward: 0, stopReason: 'max_tokens' },
      ],
    },
    { id: 'b', errors: ['grader died'], rollouts: [{ turns: 0, stopReason: null }] },
  ]);
  const [first] = groups;
  expect(first?.rollouts[0]?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
});

test('lists the evaluations that have something to read', async () => {
  await storeRollouts(join(folder, 'evals', '20', 'environments'), 1);
  storeTrajectories(join(folder, 'evals', '5', 'quiz'), [trajectory('a')]);
  mkdirSync(join(folder, 'evals', '5', 'nll'), { recursive: true });

  expect(await listEvaluationPlaces(folder)).toEqual([
    { step: 5, evaluator: 'quiz' },
    { step: 20, evaluator: 'environments' },
  ]);
  expect(await listEvaluationPlaces(join(folder, 'nowhere'))).toEqual([]);
});

test('writes the first groups as a page, and none where nothing was sampled', async () => {
  const request = { run: 'r', step: 20, evaluator: 'environments', folder, groupCount: 2 };
  expect(await evaluationPage(request)).toBeNull();
  await writeEvaluationPage(request);
  await storeRollouts(folder, 3);

  await writeEvaluationPage(request);

  const page = readFileSync(join(folder, 'rollouts.html'), 'utf8');
  expect(page).toContain('<h1>r, step 20, environments</h1>');
  expect(page).toContain('&lt;b&gt;1&lt;/b&gt;');
  expect(page).not.toContain('p2');
  expect(page).toContain(
    'everstep runs rollouts r --step 20 --evaluation environments --groups 3 --html FILE',
  );
});
