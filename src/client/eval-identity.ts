import { join } from 'node:path';
import type { Environment } from '../config/environment';
import { readEnvironment } from '../config/environment';
import type { BenchmarkRequest, ModelSource } from '../core/benchmark-run';
import { createBenchmarkRowReader } from '../evaluation/benchmarks/benchmark-rows';
import type { BenchmarkPlan } from '../evaluation/runner/benchmark-plan';
import type { IdentifyDependencies } from '../evaluation/runner/identify-benchmark';
import { identifyStored } from '../evaluation/runner/identify-stored';
import type { OptionDifference } from '../evaluation/runner/option-differences';
import { makingDifferences } from '../evaluation/runner/option-differences';
import { isSameIdentity } from '../evaluation/runner/refuse-other-identity';
import type { ResultIdentity, StoredResult } from '../stores/eval-store';
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
  const present = await presentIdentity(request, plan);
  return present !== null && isSameIdentity(result.identity, present);
}

/**
 * In what a benchmark that is under way differs from one that would begin now: the data or the plug-in file may have changed. Empty
 * too where that cannot be known here.
 */
export async function presentDifferences(
  request: BenchmarkRequest,
  plan: BenchmarkPlan,
): Promise<readonly OptionDifference[]> {
  const identity = await presentIdentity(request, plan);
  if (identity === null || isSameIdentity(plan.identity, identity)) return [];
  return makingDifferences(plan, { identity, request });
}

/** null where it cannot be known here. */
async function presentIdentity(
  request: BenchmarkRequest,
  plan: BenchmarkPlan,
): Promise<ResultIdentity | null> {
  const environment = readEnvironment();
  try {
    const dataFolder = request.dataFolder ?? environment.benchmarkDataFolder ?? undefined;
    return await identifyStored(identifyDependencies(environment), request, { plan, dataFolder });
  } catch {
    return null;
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
