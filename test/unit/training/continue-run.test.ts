import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import type { RunState, ScoreRow } from '../../../src/core/run';
import type { RunStore } from '../../../src/stores/run-store';
import { withDigest } from '../../../src/training/record-digest';
import { createRunStore } from '../../../src/stores/run-store';
import type { ContinueRunInput } from '../../../src/training/continue-run';
import { continueRun } from '../../../src/training/continue-run';

const RUN = 'mine';
const CONFIG = parseTrainingConfig({
  kind: 'sft',
  model: 'everstep/tiny',
  dataset: { path: '/data/train.jsonl' },
  steps: 24,
  saveEvery: 4,
  evalEvery: 4,
  evaluators: [{ type: 'nll', name: 'test', dataset: { path: '/data/test.jsonl' } }],
});
const STATE: RunState = {
  run: RUN,
  kind: 'sft',
  model: 'everstep/tiny',
  workflowId: 'train/mine',
  engine: 'http://127.0.0.1:1',
  status: 'cancelled',
  step: 8,
  totalSteps: 24,
  startedAt: '2026-01-01T00:00:00.000Z',
  closedAt: '2026-01-01T00:10:00.000Z',
  lineage: 0,
  rewinds: 0,
  stepsReplayed: 0,
  finalWeightsDigest: null,
};

let folder: string;
let store: RunStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-continue-'));
  store = createRunStore(folder);
  await store.claim(RUN, { workflowId: 'train/mine', firstRunId: 'first' });
  await store.writeConfig(RUN, { config: CONFIG, evaluators: {}, data: { trainCount: 100 } });
  await store.writeState(RUN, STATE);
  await journal(
    'metrics',
    [1, 2, 3, 4, 5, 6, 7, 8].map((step) => ({ step })),
  );
  await journal(
    'checkpoints',
    [0, 4, 8].map((step) => checkpoint(step)),
  );
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function journal(name: 'metrics' | 'checkpoints' | 'scores', rows: readonly object[]): Promise<void> {
  const opened = await store.openJournal(RUN, name, { epoch: 1 });
  for (const row of rows) opened.append(row as never);
  await opened.close();
}

function checkpoint(step: number) {
  const path = (kind: string) => `tinker://m/${kind}/${step}`;
  return { step, name: String(step), lineage: 0, state_path: path('weights'), sampler_path: path('sampler') };
}

function score(step: number, more: object = {}): Partial<ScoreRow> {
  const metric = { metric: 'nll', key: 'test/nll', value: 1, stderr: 0.1, n: 8, higherIsBetter: false };
  return { step, schedule: 'evaluators', evaluator: 'test', at: '', ...metric, ...more };
}

const ASKED_AT = '2026-01-02T00:00:00.000Z';

async function goOn(more: Partial<ContinueRunInput> = {}) {
  const engine = { client: { close: () => Promise.resolve() }, profile: { server: 'everstep' } };
  const engines = { connect: () => Promise.resolve(engine) } as never;
  const remains = await continueRun(
    { store, engines },
    { run: RUN, workflowId: 'train/mine', firstRunId: 'next', askedAt: ASKED_AT, ...more },
    { signal: new AbortController().signal, onWaiting: () => undefined },
  );
  if (remains.found !== 'continued') throw new Error(remains.found);
  return remains.run;
}

const failed = { metric: 'error', key: 'test/error', value: null, stderr: null, n: 0 };

describe('a run that is gone on with', () => {
  test('measures what has no result', async () => {
    await journal('scores', [score(0), score(8)]);

    const { due, step } = await goOn();

    expect(step).toBe(8);
    expect(due.map((one) => one.step)).toEqual([4]);
  });

  test('measures again what ended with it when it was cancelled, and leaves no other word of it', async () => {
    await journal('scores', [score(0), score(4, { ...failed, error: 'cancelled' }), score(8)]);

    const first = await goOn();
    const again = await goOn();

    expect(first.due.map((one) => one.step)).toEqual([4]);
    expect(again.due).toEqual(first.due);
    expect((await store.readScores(RUN)).map((row) => [row.step, row.error])).toEqual([
      [0, undefined],
      [8, undefined],
    ]);
    expect(again.writes).toBeGreaterThanOrEqual(first.writes);
  });

  test('belongs to whoever took it over last, whose writes come after all that those before may still begin', async () => {
    await journal('metrics', [{ step: 1 }]);

    const first = await goOn();
    const repeated = await goOn();
    const next = await goOn({ firstRunId: 'another' });

    expect(repeated.writes - first.writes).toBeLessThan(10);
    expect(next.writes - repeated.writes).toBeGreaterThan(100);
    expect(await store.readOwner(RUN)).toEqual({
      ...{ workflowId: 'train/mine', firstRunId: 'another' },
      firstEpoch: next.writes * 1_000_000,
    });
  });

  test('keeps what went wrong by itself, and what made room for another', async () => {
    const skipped = { metric: 'skipped', key: 'test/skipped', value: null, error: 'skipped: overlap' };
    await journal('scores', [score(0, { ...failed, error: 'no grader' }), score(4, skipped), score(8)]);

    expect((await goOn()).due).toEqual([]);
    expect(await store.readScores(RUN)).toHaveLength(3);
  });
});

describe('a config.json that was edited since the run was prepared', () => {
  const edit = (record: object) =>
    store.writeConfig(RUN, { ...record, config: { ...CONFIG, learningRate: 1 } });
  const written = withDigest({ config: CONFIG, evaluators: {}, data: { trainCount: 100 } });

  test('is not gone on with, and the run stays whose it was', async () => {
    await edit(written);

    await expect(goOn()).rejects.toMatchObject({
      code: 'record-changed',
      message: expect.stringMatching(/"mine" was prepared by another .*config\.json .*Put it back/) as string,
      retryable: false,
    });
    expect(await store.readOwner(RUN)).toMatchObject({ firstRunId: 'first' });
  });

  test.each([
    ['as it was written', () => store.writeConfig(RUN, written)],
    ['whose digest was taken out', () => edit({ ...written, digest: undefined })],
  ])('is gone on with %s', async (_, write) => {
    await journal('scores', [score(0), score(4), score(8)]);
    await write();

    expect((await goOn()).step).toBe(8);
  });
});

describe('the timeline of a run that is gone on with', () => {
  const readEvents = async () =>
    (await store.readEvents(RUN)).map(({ at, kind, step, text }) => `${at} ${kind} ${step} ${text}`);

  test('keeps for good what ended it and that it was continued, once however often that is tried', async () => {
    const reason = 'The training service failed forward_backward (boom).';
    await store.writeState(RUN, { ...STATE, status: 'failed', reason });
    await journal('scores', [score(0), score(4), score(8)]);

    await goOn();
    // The state was not written before the worker died.
    await store.writeState(RUN, { ...STATE, status: 'failed', reason });
    await goOn();

    expect(await readEvents()).toEqual([
      `2026-01-01T00:10:00.000Z ended 8 failed: ${reason}`,
      `${ASKED_AT} continued 8 from the checkpoint of step 8`,
    ]);
  });

  test('has every end of one that was continued several times, and the steps that are trained again', async () => {
    await journal('metrics', [{ step: 9 }, { step: 10 }]);
    await goOn();
    const closedAt = '2026-01-03T00:00:00.000Z';
    await store.writeState(RUN, { ...STATE, status: 'failed', reason: 'no', step: 10, closedAt });
    await goOn({ askedAt: '2026-01-04T00:00:00.000Z' });

    expect(await readEvents()).toEqual([
      '2026-01-01T00:10:00.000Z ended 8 cancelled',
      `${ASKED_AT} continued 8 from the checkpoint of step 8: steps 9 to 10, and what was sent behind, trained again`,
      `${closedAt} ended 10 failed: no`,
      '2026-01-04T00:00:00.000Z continued 8 from the checkpoint of step 8: steps 9 to 10, and what was sent behind, trained again',
    ]);
  });

  test('says of a run that could not write how it ended what the server says', async () => {
    await store.writeState(RUN, { ...STATE, status: 'running', closedAt: null, step: 4 });
    const endedBefore = { at: '2026-01-01T00:20:00.000Z', text: 'terminated: by ann' };

    await goOn({ endedBefore });

    expect((await readEvents())[0]).toBe('2026-01-01T00:20:00.000Z ended 8 terminated: by ann');
  });
});
