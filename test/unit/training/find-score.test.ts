import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRunStore } from '../../../src/stores/run-store';
import { findScore } from '../../../src/training/find-score';
import { score, STATE } from '../client/fake-server';

const root = mkdtempSync(join(tmpdir(), 'everstep-find-score-'));
const store = createRunStore(root);
afterAll(() => {
  rmSync(root, { recursive: true });
});

test('a score is found by step, evaluator and key, whoever asked for it; an evaluation that failed has none', async () => {
  await store.claim('one', { workflowId: 'train/one', firstRunId: 'first' });
  await store.writeState('one', STATE);
  const journal = await store.openJournal('one', 'scores', { epoch: 1 });
  const asked = score({ step: 5, schedule: 'requested', value: 0.7 });
  for (const row of [
    ...[score({ step: 5, metric: 'error', value: null, error: 'no luck' }), score({ step: 4 })],
    ...[score({ step: 5, evaluator: 'other' }), asked],
  ])
    journal.append(row);
  await journal.close();
  const wanted = { run: 'one', evaluator: asked.evaluator, key: asked.key };

  expect(await findScore(store, { ...wanted, step: 5 })).toEqual(asked);
  expect(await findScore(store, { ...wanted, step: 6 })).toBeNull();
});
