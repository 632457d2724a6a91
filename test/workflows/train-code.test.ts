import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Leases } from '../../src/sandboxes/leases/leases';
import { processesNaming } from '../../src/sandboxes/leases/processes-naming';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
});

afterAll(() => stack.stop());

/** The small model writes digits, which are programs; what they are worth only the sandbox can tell. */
function config() {
  const path = join(stack.folder, 'tasks.jsonl');
  const rows = Array.from({ length: 12 }, (_, index) => ({
    messages: [{ role: 'user', content: `${index}+1=` }],
    test_list: [
      'import os; assert os.getcwd() == "/work"',
      'assert len(open("solution.py").read().strip()) > 1',
      'assert open("solution.py").read().strip()[0] in "13579"',
    ],
  }));
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return runs.config({
    ...{ steps: 2, saveEvery: 1, evalEvery: 0, evaluators: [] },
    environment: { type: 'code', path, reward: 'fraction', codeBlock: 'optional', testSize: 0 },
  });
}

test('trains on programs that ran in sandboxes, and ends bit by bit the same when its worker is killed', async () => {
  await stack.startWorkers();
  const drawnBefore = await runs.tokensSampled();
  await runs.train('calm', config());
  const drawn = (await runs.tokensSampled()) - drawnBefore;
  await stack.stopWorkers();

  const handle = await runs.start('killed', config());
  const worker = WorkerProcess.start(stack);
  await runs.untilGroups('killed', 1);
  const leases = await leasesOf(worker);
  await worker.kill();
  const journalled = runs.rollouts('killed');
  await stack.startWorkers();
  await reportOf(handle);
  await stack.stopWorkers();

  expect(await runs.outcome('killed')).toEqual(await runs.outcome('calm'));
  expect(runs.rollouts('killed')).toMatchObject(journalled);
  // A kill costs what is in flight: at most a step's groups.
  expect((await runs.tokensSampled()) - drawnBefore - drawn).toBeLessThanOrEqual(drawn + 4 * 4 * 6);
  const left = new Set(await new Leases().list());
  expect(leases.filter((lease) => left.has(lease) || processesNaming(lease).length > 0)).toEqual([]);
  // Every program that can be read is in its folder, so sandboxes ran them; not every one begins with an odd digit.
  const passed = (await stack.store.readMetrics('calm')).map((row) => Number(row['env/all/tests_passed']));
  expect(Math.min(...passed)).toBeGreaterThan(0);
  expect(Math.max(...passed)).toBeLessThan(1);
});

/** Sandboxes of a worker, among those that others of this machine have. */
async function leasesOf({ pid }: WorkerProcess): Promise<string[]> {
  const leases = new Leases();
  const holderOf = (lease: string) => {
    try {
      const holder = JSON.parse(readFileSync(join(leases.root, lease, 'lease.json'), 'utf8')) as object;
      return 'pid' in holder ? holder.pid : null;
    } catch {
      // Those of others come and go.
      return null;
    }
  };
  return (await leases.list()).filter((lease) => holderOf(lease) === pid);
}
