import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunState } from '../../../src/core/run';
import { findUnreadableRuns } from '../../../src/client/continue-run';
import { refuseAlive } from '../../../src/client/refuse-alive';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';

const RUNNING: RunState = {
  ...{ run: 'live', kind: 'sft', model: 'm', status: 'running', step: 4, totalSteps: 9, startedAt: 'then' },
  ...{ closedAt: null, workflowId: 'train/live', engine: 'e', lineage: 0, rewinds: 0, stepsReplayed: 0 },
  finalWeightsDigest: null,
};

let folder: string;
let store: RunStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-alive-'));
  store = createRunStore(folder);
  await store.claim('live', { workflowId: 'train/live', firstRunId: 'first' });
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** As the files of a run are an hour after its last word. */
async function left(state: RunState, waits = false): Promise<RunState> {
  await store.writeState('live', state);
  const journal = await store.openJournal('live', 'events', { epoch: 1 });
  if (waits) journal.append({ at: 'then', kind: 'waiting', step: 4, text: 'the engine' });
  await journal.close();
  const old = new Date(Date.now() - 3_600_000);
  for (const name of ['state.json', 'events.jsonl'])
    utimesSync(join(store.runFolder('live'), name), old, old);
  return state;
}

test('a run that writes nothing any more is free', async () => {
  expect(await refuseAlive(store, await left(RUNNING))).not.toBeNull();
});

test.each([
  ['paused', { ...RUNNING, status: 'paused' } as const, false],
  ['waiting', { ...RUNNING, status: 'waiting' } as const, false],
  ['waiting', RUNNING, true],
])(
  'one that is %s by its store may live elsewhere, until its server is said to be gone',
  async (word, state, waits) => {
    await left(state, waits);

    await expect(refuseAlive(store, state)).rejects.toMatchObject({
      code: 'run-exists',
      message: expect.stringMatching(
        new RegExp(`is ${word}, by its state .*train --run live --continue --server-gone`),
      ) as string,
    });
    expect(await refuseAlive(store, state, { isServerGone: true })).not.toBeNull();
  },
);

test('one whose files are fresh is worked on, whatever is said of its server', async () => {
  await store.writeState('live', { ...RUNNING, status: 'paused' });

  await expect(refuseAlive(store, { ...RUNNING, status: 'paused' }, { isServerGone: true })).rejects.toThrow(
    /another server works on it/,
  );
});

test('a run whose folder was renamed is named, with the name to give back', async () => {
  await store.writeState('live', { ...RUNNING, run: 'term' });
  const sources = { records: store, link: {} } as unknown as Parameters<typeof findUnreadableRuns>[0];

  expect(await findUnreadableRuns(sources)).toEqual([
    expect.stringMatching(/^Run "live": .*the state of another run, "term": .*give it that name back/),
  ]);
});
