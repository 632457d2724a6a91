import { createHash } from 'node:crypto';
import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import type { PluginRegistry } from '../../evaluation/plugins';
import { buildEnvironments } from '../environments/build-environments';
import type { EnvironmentDataset } from '../environments/environment-dataset';
import type { PythonAccess } from '../environments/python/python-environments';

export interface EnvironmentAccess {
  readonly readBenchmarkRows: ReadBenchmarkRows;
  readonly loadPlugins: (file: string | undefined) => Promise<PluginRegistry>;
  /** Absent where there is no way to Python workers. */
  readonly pythonEnvironments?: PythonAccess;
}

export async function openEnvironments(
  { readBenchmarkRows, loadPlugins, pythonEnvironments: python }: EnvironmentAccess,
  { environment, plugins, seed }: ReinforcementConfig,
): Promise<EnvironmentDataset> {
  return buildEnvironments(environment, {
    ...{ readBenchmarkRows, plugins: await loadPlugins(plugins), seed },
    ...(python && { python }),
  });
}

/** SHA-256 of the problems' ids in order: workers that read other problems would train another run. */
export function problemsHash(dataset: EnvironmentDataset): string {
  const hash = createHash('sha256');
  for (let index = 0; index < dataset.length; index++) hash.update(`${dataset.groupAt(index).id}\n`);
  return hash.digest('hex');
}
