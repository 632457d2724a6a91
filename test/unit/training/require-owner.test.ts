import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunState } from '../../../src/core/run';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import type { CloseDependencies, CloseRunInput } from '../../../src/training/close-run';
import { closeRun } from '../../../src/training/close-run';
import { noteStatus } from '../../../src/training/note-status';
import { recordControl } from '../../../src/training/record-control';

const RUN = 'live';
const PAUSED: RunState = {
  ...{ run: RUN, kind: 'sft', model: 'm', status: 'paused', step: 4, totalSteps: 9, startedAt: 'then' },
  ...{ closedAt: null, workflowId: 'train/live', engine: 'e', lineage: 0, rewinds: 0, stepsReplayed: 0 },
  finalWeightsDigest: null,
};
/** The other workflow has the run, and writes under numbers from this one. */
const TAKEN_AT = 1_015_000_000;
const LOSER = 16_000_001;
const WINNER = TAKEN_AT + 1_000_001;

let folder: string;
let store: RunStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-owner-'));
  store = createRunStore(folder);
  await store.claim(RUN, { workflowId: 'train/live', firstRunId: 'first' });
  await store.writeState(RUN, PAUSED);
  await store.takeOver(RUN, { workflowId: 'train/live', firstRunId: 'second', firstEpoch: TAKEN_AT });
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function close(status: CloseRunInput['status'], epoch: number) {
  const forgotten: string[] = [];
  const dependencies = {
    ...{ store, isLastChance: false, epoch, now: () => new Date(0), warn: () => undefined },
    runs: {
      forget: (run: string) => Promise.resolve(forgotten.push(run)),
      use: () => Promise.resolve(null),
    },
  } as unknown as CloseDependencies;
  const input = {
    plan: { run: RUN, totalSteps: 9 },
    model: null,
    status,
    step: 3,
    rewinds: 0,
    stepsReplayed: 0,
  };
  await closeRun(dependencies, { ...input, reason: 'why' } as CloseRunInput);
  return forgotten;
}

test.each(['failed', 'cancelled'] as const)(
  'a workflow that lost its run leaves the state to the one that has it: %s',
  async (status) => {
    expect(await close(status, LOSER)).toEqual([RUN]);

    expect(await store.readState(RUN)).toEqual(PAUSED);
  },
);

test('a workflow that lost its run cannot say that it is trained, nor anything else', async () => {
  const status = { run: RUN, status: 'running', step: 5, events: [], segment: 16 } as const;
  const row = { at: 'now', by: 'cli', control: 'pause', step: 5 } as never;
  const lost = {
    code: 'superseded',
    message: expect.stringMatching(/taken over by another workflow/) as string,
  };

  await expect(close('completed', LOSER)).rejects.toMatchObject(lost);
  await expect(noteStatus(store, status, LOSER)).rejects.toMatchObject(lost);
  await expect(recordControl(store, { run: RUN, write: 16, row }, LOSER)).rejects.toMatchObject(lost);

  expect(await store.readState(RUN)).toEqual(PAUSED);
});

test('the workflow that took it over writes how it stands and ends', async () => {
  await noteStatus(store, { run: RUN, status: 'running', step: 5, events: [], segment: 16 }, WINNER);
  expect(await store.readState(RUN)).toEqual({ ...PAUSED, status: 'running', step: 5 });

  await close('failed', WINNER);
  expect(await store.readState(RUN)).toMatchObject({ status: 'failed', reason: 'why' });
});
