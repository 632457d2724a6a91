import { ReinforcementConfig } from '../../../../src/config/reinforcement-config';
import type { PluginRegistry } from '../../../../src/evaluation/plugins';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import {
  changedLoss,
  changedRewards,
  environmentCodeOf,
  pluginCodeOf,
} from '../../../../src/training/reinforcement/plugin-code';

const PLUGINS: PluginRegistry = { ...NO_PLUGINS, file: 'mine.ts', hash: 'abc' };
const CODE = { file: 'mine.ts', hash: 'abc' };
const OWN = { type: 'plugin', environment: 'mine' };
const SUMS = { type: 'arithmetic' };

function configOf(more: object): ReinforcementConfig {
  return ReinforcementConfig.parse({ kind: 'rl', model: 'everstep/tiny', environment: SUMS, ...more });
}

test.each([
  ['an environment', { environment: OWN }, CODE, 'abc'],
  [
    'an environment in a mixture',
    {
      environment: {
        type: 'mixture',
        parts: [
          { weight: 1, environment: SUMS },
          { weight: 1, environment: OWN },
        ],
      },
    },
    CODE,
    'abc',
  ],
  ['reward shaping', { rewardShaping: { plugin: 'short' } }, CODE, null],
  ['a loss', { lossFunction: { plugin: 'mine' } }, CODE, null],
  ['nothing', {}, null, null],
] as const)('%s of a plug-in file is code of its own', (_, more, code, environmentCode) => {
  const config = configOf(more);

  expect(pluginCodeOf(config, PLUGINS)).toEqual(code);
  expect(environmentCodeOf(config.environment, PLUGINS)).toBe(environmentCode);
  expect(pluginCodeOf(config, NO_PLUGINS)).toBeNull();
});

const OTHER: PluginRegistry = { ...PLUGINS, hash: 'def' };

test.each([
  ['an environment', { environment: OWN }, true, false],
  ['reward shaping', { rewardShaping: { plugin: 'short' } }, true, false],
  ['a loss', { lossFunction: { plugin: 'mine' } }, false, true],
] as const)('other code of %s is told by those alone who use it', (_, more, tellsRewards, tellsLoss) => {
  const config = configOf(more);
  const told = (code: typeof CODE | undefined, plugins: PluginRegistry) => [
    changedRewards(code, config, plugins)?.startsWith('plugins: mine.ts is not what it was') ?? false,
    changedLoss(code, config, plugins)?.startsWith('plugins: mine.ts is not what it was') ?? false,
  ];

  expect(told(CODE, OTHER)).toEqual([tellsRewards, tellsLoss]);
  expect(told(CODE, PLUGINS)).toEqual([false, false]);
  expect(told(undefined, OTHER)).toEqual([false, false]);
});
