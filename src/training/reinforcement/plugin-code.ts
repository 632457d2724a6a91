import type { EnvironmentConfig } from '../../config/environment-config';
import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { PluginRegistry } from '../../evaluation/plugins';

/** Code of a plug-in file that a run is trained by. */
export interface PluginCode {
  readonly file: string;
  /** SHA-256 of the file and of the local files that it imports. */
  readonly hash: string;
}

type UsesPlugin = Pick<ReinforcementConfig, 'environment' | 'rewardShaping' | 'lossFunction'>;

/** The plug-in code that a run has its environment, its reward shaping or its loss from; null where it has none of them from any. */
export function pluginCodeOf(config: UsesPlugin, plugins: PluginRegistry): PluginCode | null {
  return hasOwnRewards(config, plugins) || hasOwnLoss(config) ? codeOf(plugins) : null;
}

/** The hash of the code that held-out problems are played and graded by; null where it is none of a plug-in. */
export function environmentCodeOf(environment: EnvironmentConfig, plugins: PluginRegistry): string | null {
  return isOfPlugin(environment, plugins) ? (codeOf(plugins)?.hash ?? null) : null;
}

/** What is said where the worker that plays has other code than the run was prepared with; null where it has the same. */
export function changedRewards(
  prepared: PluginCode | undefined,
  config: UsesPlugin,
  plugins: PluginRegistry,
): string | null {
  const file = hasOwnRewards(config, plugins) ? changedFile(prepared, plugins) : null;
  return file === null
    ? null
    : `plugins: ${file} is not what it was when the run was prepared, and a worker that was started since plays and rewards by it as it is now: ` +
        'rewards of before and after cannot be compared. Put the file back, or start a run of its own with it.';
}

/** The same of the worker that trains, whose loss it is. */
export function changedLoss(
  prepared: PluginCode | undefined,
  config: UsesPlugin,
  plugins: PluginRegistry,
): string | null {
  const file = hasOwnLoss(config) ? changedFile(prepared, plugins) : null;
  return file === null
    ? null
    : `plugins: ${file} is not what it was when the run was prepared, and a worker that was started since trains by its loss as it is now. ` +
        'Put the file back, or start a run of its own with it.';
}

function changedFile(prepared: PluginCode | undefined, plugins: PluginRegistry): string | null {
  const here = codeOf(plugins);
  return prepared === undefined || here === null || prepared.hash === here.hash ? null : here.file;
}

function hasOwnRewards({ environment, rewardShaping }: UsesPlugin, plugins: PluginRegistry): boolean {
  return rewardShaping !== undefined || isOfPlugin(environment, plugins);
}

function hasOwnLoss({ lossFunction }: UsesPlugin): boolean {
  return typeof lossFunction === 'object';
}

function codeOf({ file, hash }: PluginRegistry): PluginCode | null {
  return file === null || hash === null ? null : { file, hash };
}

function isOfPlugin(environment: EnvironmentConfig, plugins: PluginRegistry): boolean {
  switch (environment.type) {
    case 'plugin':
      return true;
    case 'benchmark':
      return plugins.benchmarks.has(environment.benchmark);
    case 'kind':
      return plugins.kinds.has(environment.task);
    case 'mixture':
      return environment.parts.some((part) => isOfPlugin(part.environment, plugins));
    default:
      return false;
  }
}
