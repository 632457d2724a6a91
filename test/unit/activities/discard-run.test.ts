import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRunActivities } from '../../../src/activities/run-activities';
import type { RunDependencies } from '../../../src/activities/run-activities';
import type { RunStore } from '../../../src/stores/run-store';
import { createRunStore } from '../../../src/stores/run-store';
import { STATE } from '../client/fake-server';

const OWNER = { workflowId: 'train/one', runId: 'mine' };

jest.mock('../../../src/activities/activity-context', () => ({
  currentWorkflow: () => OWNER,
  withHeartbeat: (work: (run: object) => Promise<unknown>) => work({}),
}));

let folder: string;
let store: RunStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-discard-'));
  store = createRunStore(folder);
  await store.claim('one', { workflowId: OWNER.workflowId, firstRunId: OWNER.runId });
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function discard(input: { readonly run: string; readonly continues?: boolean }): Promise<void> {
  return createRunActivities({ store } as RunDependencies).discardRun(input);
}

test('a run that was trained stays where going on with it was ended before it began', async () => {
  await store.writeState('one', { ...STATE, status: 'failed' });

  await discard({ run: 'one', continues: true });

  expect(await store.readState('one')).toMatchObject({ run: 'one', status: 'failed' });
});

test.each([{}, { continues: true }])('what was never made ready goes: %j', async (more) => {
  await discard({ run: 'one', ...more });

  expect(await store.exists('one')).toBe(false);
});
