import { createHash } from 'node:crypto';
import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import type { JudgeAccess } from '../../evaluation/judges/judge-access';
import type { PluginRegistry } from '../../evaluation/plugins';
import type { ReadDataset } from '../dataset-source';
import { buildEnvironments } from '../environments/build-environments';
import type { EnvironmentDataset } from '../environments/environment-dataset';
import type { JudgingSources } from '../environments/judged/judged-environments';
import type { PythonAccess } from '../environments/python/python-environments';
import { rewardShapingOf, shapedEnvironments } from '../environments/reward-shaping';

export interface EnvironmentAccess {
  readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  readonly loadPlugins: (file: string | undefined) => Promise<PluginRegistry>;
  /** Absent where there is no way to Python workers. */
  readonly pythonEnvironments?: PythonAccess;
  /** Absent where there is no way to models that judge. */
  readonly judges?: JudgeAccess;
  readonly readDataset?: ReadDataset;
}

export async function openEnvironments(
  access: EnvironmentAccess,
  config: ReinforcementConfig,
  dataFolder: string | undefined,
): Promise<EnvironmentDataset> {
  const { readBenchmarkRows, loadPlugins, pythonEnvironments: python } = access;
  const { environment, plugins, seed } = config;
  const judging = judgingOf(access, config);
  const registry = await loadPlugins(plugins);
  const shape = config.rewardShaping ? rewardShapingOf(config.rewardShaping, registry) : null;
  const dataset = await buildEnvironments(environment, {
    ...{ readBenchmarkRows: readBenchmarkRows(dataFolder), plugins: registry, seed },
    ...(python && { python }),
    ...(judging && { judging }),
  });
  return shape === null ? dataset : shapedEnvironments(dataset, shape);
}

function judgingOf(
  { judges, readDataset }: EnvironmentAccess,
  {
    model,
    renderer,
    templateArguments,
    engine: { url, profile },
    maxTokens,
    temperature,
  }: ReinforcementConfig,
): JudgingSources | undefined {
  if (!judges || !readDataset) return undefined;
  const own = {
    model,
    ...(renderer !== undefined && { renderer }),
    ...(templateArguments && { templateArguments }),
    ...(url !== undefined && { url }),
    ...(profile && { profile }),
  };
  return { access: judges, readDataset, own, generation: { maxTokens, temperature } };
}

/** SHA-256 of the problems' ids in order: workers that read other problems would train another run. */
export function problemsHash(dataset: EnvironmentDataset): string {
  const hash = createHash('sha256');
  for (let index = 0; index < dataset.length; index++) hash.update(`${dataset.groupAt(index).id}\n`);
  return hash.digest('hex');
}
