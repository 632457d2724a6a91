import { join } from 'node:path';
import type { Environment } from '../config/environment';
import { readEnvironment } from '../config/environment';
import type { BenchmarkRequest, ModelSource } from '../core/benchmark-run';
import { createBenchmarkRowReader } from '../evaluation/benchmarks/benchmark-rows';
import type { BenchmarkPlan } from '../evaluation/runner/benchmark-plan';
import type { IdentifyDependencies } from '../evaluation/runner/identify-benchmark';
import { identifyStored } from '../evaluation/runner/identify-stored';
import { isSameIdentity } from '../evaluation/runner/refuse-other-identity';
import type { StoredResult } from '../stores/eval-store';
import { engineFormat } from '../training/model-checks';
import { createPluginLoader } from '../training/plugin-file';

/**
 * Whether a stored result is made of what a request is made of now: benchmark, data, prompts, sampling parameters, grader and
 * judges. Reads the data and the plug-in file that this machine has and asks nobody. False too where that cannot be known here:
 * then a worker has to say it.
 */
export async function isMadeAsAsked(
  request: BenchmarkRequest,
  { plan, result }: { readonly plan: BenchmarkPlan; readonly result: StoredResult },
): Promise<boolean> {
  const environment = readEnvironment();
  try {
    const dataFolder = request.dataFolder ?? environment.benchmarkDataFolder ?? undefined;
    const present = await identifyStored(identifyDependencies(environment), request, { plan, dataFolder });
    return present !== null && isSameIdentity(result.identity, present);
  } catch {
    return false;
  }
}

/** What it takes to know here what a result would be made of. */
export function identifyDependencies(environment: Environment): IdentifyDependencies & {
  readonly inspect: NonNullable<IdentifyDependencies['inspect']>;
} {
  const { dataFolder, huggingFaceToken, huggingFaceUrl, benchmarkDataFolder, cacheFolder } = environment;
  const hub = {
    cacheFolder: join(dataFolder, 'cache'),
    ...(huggingFaceToken !== null && { token: huggingFaceToken }),
    ...(huggingFaceUrl !== null && { hubUrl: huggingFaceUrl }),
  };
  return {
    readBenchmarkRows: (folder = benchmarkDataFolder ?? undefined) =>
      createBenchmarkRowReader({ hub, ...(folder !== undefined && { dataFolder: folder }) }),
    loadPlugins: createPluginLoader(),
    models: { promptFormat },
    inspect: { cacheFolder },
  };
}

function promptFormat(source: ModelSource): string {
  if (source.type === 'endpoint') return source.api;
  return engineFormat(source);
}
