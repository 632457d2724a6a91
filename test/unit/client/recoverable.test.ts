import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRecoverable } from '../../../src/client/continue-run';
import { createRunStore } from '../../../src/stores/run-store';
import { FakeServer, STATE } from './fake-server';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'everstep-recoverable-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

test('a run whose file is a pipe is named with it, beside the others', async () => {
  const records = createRunStore(root);
  for (const run of ['bad', 'good']) {
    await records.claim(run, { workflowId: `train/${run}`, firstRunId: 'first' });
    await records.writeState(run, { ...STATE, run, step: 3 });
    // So that nobody seems to be at work on it.
    utimesSync(join(records.runFolder(run), 'state.json'), 0, 0);
  }
  execFileSync('mkfifo', [join(records.runFolder('bad'), 'checkpoints.jsonl')]);

  const found = await findRecoverable({ link: new FakeServer().link, records }, { isServerGone: true });

  expect(found.map(({ run, step, workflow }) => ({ run, step, workflow }))).toEqual([
    { run: 'bad', step: 3, workflow: 'lost' },
    { run: 'good', step: 3, workflow: 'lost' },
  ]);
  expect(found.map(({ refusal = null }) => refusal)).toEqual([
    expect.stringContaining('checkpoints.jsonl is a pipe where a file belongs'),
    null,
  ]);
});
