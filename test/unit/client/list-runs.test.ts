import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { listRuns, pageOfRuns } from '../../../src/client/list-runs';
import { Selection } from '../../../src/client/runs-order';
import type { RunSources } from '../../../src/client/run-handle';
import type { RunState } from '../../../src/core/run';
import { createRunStore } from '../../../src/stores/run-store';
import { SERVER_AWAY, STATE, score } from './fake-server';

let root = '';
let sources: RunSources;
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'everstep-list-'));
  sources = { link: SERVER_AWAY, records: createRunStore(root) };
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function store(
  run: string,
  more: Partial<RunState> = {},
  scores: readonly object[] = [],
): Promise<void> {
  const folder = path.join(root, 'runs', run);
  await mkdir(folder, { recursive: true });
  const state = {
    ...STATE,
    status: 'completed',
    closedAt: STATE.startedAt,
    run,
    workflowId: `train/${run}`,
    ...more,
  };
  await writeFile(path.join(folder, 'state.json'), JSON.stringify(state));
  await writeFile(
    path.join(folder, 'scores.jsonl'),
    scores.map((row) => `${JSON.stringify(row)}\n`).join(''),
  );
}

const names = async (filter: Parameters<typeof listRuns>[1]) =>
  (await listRuns(sources, filter)).map(({ run }) => run);
const rising = (value: number) => score({ step: 10, value, higherIsBetter: true });
const falling = (value: number) => score({ step: 10, value, higherIsBetter: false });

test('the best come first: metrics that rise, then those that fall, then runs without a score', async () => {
  await store('none');
  await store('loss-2', {}, [falling(2)]);
  await store('loss-1', {}, [falling(1)]);
  await store('fair', {}, [rising(0.5)]);
  await store('good', {}, [rising(0.2), { ...rising(0.9), step: 20 }]);

  expect(await names({ sort: 'score' })).toEqual(['good', 'fair', 'loss-1', 'loss-2', 'none']);
});

test('the furthest, the newest, and by name where nothing else tells them apart', async () => {
  await store('b', { step: 5 });
  await store('a', { step: 5 });
  await store('new', { step: 1, startedAt: '2027-01-01T00:00:00.000Z' });

  expect(await names({ sort: 'step' })).toEqual(['a', 'b', 'new']);
  expect(await names({})).toEqual(['new', 'a', 'b']);
  expect(await names({ limit: 1 })).toEqual(['new']);
});

test('filters join, and the page says how many there are', async () => {
  await store('one', { kind: 'rl', status: 'failed' });
  await store('two', { kind: 'rl' });
  await store('three', {});
  await store('open', { kind: 'rl', status: 'running', closedAt: null });

  expect(await names({ kind: 'rl', status: 'failed' })).toEqual(['one']);
  expect(await names({ where: 'EverstepKind = "rl" AND ExecutionStatus = "Completed"' })).toEqual(['two']);
  expect(await names({ where: 'CloseTime IS NULL' })).toEqual(['open']);
  expect(await pageOfRuns(sources, { limit: 2 })).toMatchObject({ matchCount: 4, answeredBy: 'store' });
});

test('what was asked of the store is said', async () => {
  const { note } = await pageOfRuns(sources, { where: 'EverstepStep > 3' });

  expect(note).toContain('asked of the store');
  await expect(listRuns(sources, { where: ' ' })).rejects.toMatchObject({ code: 'bad-config' });
});

test('a selection of many holds no more than it needs', () => {
  const selection = new Selection<{ run: string; startedAt: string; step: number; score: null }>('step', 10);

  for (let index = 0; index < 10_000; index++) {
    const step = (index * 7919) % 10_000;
    selection.offer({ run: `r${step}`, startedAt: '', step, score: null });
  }

  expect(selection.rows().map(({ step }) => step)).toEqual([
    9999, 9998, 9997, 9996, 9995, 9994, 9993, 9992, 9991, 9990,
  ]);
  expect(selection.offeredCount).toBe(10_000);
});

test('open runs of which no server tells are named as known from the store alone', async () => {
  await store('over');
  await store('open', { status: 'running', closedAt: null });

  expect((await pageOfRuns(sources)).asStored).toEqual(['open']);
  expect((await pageOfRuns(sources, { status: 'completed' })).asStored).toEqual([]);
});
