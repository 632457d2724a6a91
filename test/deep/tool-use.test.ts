import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadTrainingConfig } from '../../src/config/load-config';
import { ReinforcementRuns } from '../workflows/harness/reinforcement-runs';
import { TestRuns } from '../workflows/harness/runs';
import { TestStack } from '../workflows/harness/stack';

const EXAMPLE = resolve(__dirname, '../../examples/tool-use');

test('the demonstrations of examples/tool-use teach the tool for places that are in none of them', async () => {
  const stack = await TestStack.start();
  await stack.startWorkers();
  execFileSync(process.execPath, [join(EXAMPLE, 'make-data.js'), stack.folder]);
  const load = (name: string) => {
    copyFileSync(join(EXAMPLE, name), join(stack.folder, name));
    return loadTrainingConfig({ file: join(stack.folder, name) });
  };
  const [shown, search] = [await load('demonstrations.yaml'), await load('search.yaml')];
  if (shown.kind !== 'sft' || search.kind !== 'rl') throw new Error('The example has another order.');

  await new TestRuns(stack).train('shown', shown);
  await new ReinforcementRuns(stack).train('found', { ...search, steps: 1, evalEvery: 1 });

  const scores = await stack.store.readScores('found');
  const before = (key: string) => scores.find((score) => score.step === 0 && score.key === key)?.value;
  await stack.stop();
  expect(before('test/env/one/reward/total')).toBeGreaterThan(0.6);
  expect(before('test/env/two/reward/total')).toBeGreaterThan(0);
  expect(before('test/environments/accuracy')).toBeGreaterThan(0.3);
});
