import { resolve } from 'node:path';
import { loadTrainingConfig } from '../../../../src/config/load-config';
import { totalReward } from '../../../../src/core/reinforcement/rollout';
import { loadPlugins } from '../../../../src/evaluation/plugins';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import { scriptedPolicy, siteWith } from '../rollouts/scripted-policy';

const folder = resolve(__dirname, '../../../../examples/rl-environment');

async function environmentsOf(file: string) {
  const config = await loadTrainingConfig({ file: resolve(folder, file) });
  if (config.kind !== 'rl') throw new Error(`${file} is no rl config`);
  const plugins = await loadPlugins(resolve(folder, 'everstep.config.ts'));
  return buildEnvironments(config.environment, {
    plugins,
    seed: 0,
    readBenchmarkRows: () => Promise.reject(new Error('no benchmark')),
  });
}

test('the example of one’s own environment plays several turns and judges its group', async () => {
  const dataset = await environmentsOf('guess-number.yaml');
  const halving = scriptedPolicy((prompt) => {
    const hints = prompt.split('<|assistant|>').slice(1);
    const bounds = { low: 1, high: 9 };
    for (const hint of hints) {
      const guess = Number(/^\d+/.exec(hint)?.[0] ?? NaN);
      if (hint.includes('more')) bounds.low = guess + 1;
      if (hint.includes('less')) bounds.high = guess - 1;
    }
    const guess = Math.floor((bounds.low + bounds.high) / 2);
    return `${guess}<|end|>`;
  });

  expect(dataset.length).toBe(9);
  for (let index = 0; index < dataset.length; index++) {
    const group = await sampleGroup(
      siteWith(halving),
      { group: dataset.groupAt(index), groupSize: 2, seeds: () => 0, policyVersion: 0 },
      { signal: new AbortController().signal },
    );
    expect(group.rollouts.map(totalReward)).toEqual([1.1, 1.1]);
  }
});

test('the example of search has questions that its documents answer', async () => {
  const dataset = await environmentsOf('search.yaml');

  expect([dataset.length, dataset.test?.length]).toEqual([4, 2]);
});
