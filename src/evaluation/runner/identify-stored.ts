import type { BenchmarkRequest } from '../../core/benchmark-run';
import type { ResultIdentity } from '../../stores/eval-store';
import { findBenchmark } from '../benchmarks';
import type { Benchmark } from '../benchmarks/benchmark';
import { isLocal, isPinnedRead } from '../benchmarks/benchmark-rows';
import { withinDates } from '../benchmarks/date-window';
import { rejudgedIdentity } from '../judges/plan-rejudging';
import { lookUpKind } from '../kinds';
import type { Kind } from '../kinds/kind';
import type { BenchmarkPlan } from './benchmark-plan';
import { findForeignPlan } from './benchmark-plan';
import type { IdentifyDependencies } from './identify-benchmark';
import { identifyBenchmark } from './identify-benchmark';
import { identifyKind } from './kind-benchmark';
import { workOf } from './planned-work';

/** A benchmark that has a result, and where its data may lie now. */
export interface StoredMaking {
  readonly plan: BenchmarkPlan;
  readonly dataFolder: string | undefined;
}

/**
 * What a result of this request would be made of, where there is one already. The hub is not asked: data of a commit is what it
 * was; null where the hub would have to say which data it is now.
 */
export async function identifyStored(
  dependencies: IdentifyDependencies,
  request: BenchmarkRequest,
  stored: StoredMaking,
): Promise<ResultIdentity | null> {
  if (request.inspectTask) return (await identifyBenchmark(dependencies, request)).identity;
  const plugins = await dependencies.loadPlugins(request.plugins);
  const kind = lookUpKind(request.benchmark, plugins);
  if (kind) return identifyUnlessOfHub(kind, stored, { dependencies, request });
  const benchmark = withinDates(findBenchmark(request.benchmark, plugins), request);
  const named = { ...request, benchmark: benchmark.name };
  return request.samplesFrom === undefined
    ? identifyUnlessOfHub(benchmark, stored, { dependencies, request: named })
    : identifyRejudged(benchmark, named, request.samplesFrom);
}

async function identifyRejudged(
  benchmark: Benchmark,
  request: BenchmarkRequest,
  folder: string,
): Promise<ResultIdentity | null> {
  const from = await findForeignPlan({ ...request, folder });
  return from && rejudgedIdentity(from, benchmark, request);
}

interface Asked {
  readonly dependencies: IdentifyDependencies;
  readonly request: BenchmarkRequest;
}

async function identifyUnlessOfHub(
  subject: Kind | Benchmark,
  { plan, dataFolder }: StoredMaking,
  asked: Asked,
): Promise<ResultIdentity | null> {
  const { name, data } = subject;
  if (!('hub' in data) || isLocal(name, data, dataFolder))
    return (await identifyBenchmark(asked.dependencies, asked.request)).identity;
  if (!isPinnedRead(name, data, { source: plan.source, dataFolder })) return null;
  return 'kind' in subject ? kindOfSameData(subject, plan, asked) : benchmarkOfSameData(subject, plan, asked);
}

async function kindOfSameData(
  kind: Kind,
  { identity: { dataHash }, source }: BenchmarkPlan,
  { dependencies, request }: Asked,
): Promise<ResultIdentity> {
  const readBenchmarkRows = () => () => Promise.resolve({ rows: [], source });
  const { identity } = await identifyKind({ ...dependencies, readBenchmarkRows }, kind, request);
  return { ...identity, dataHash };
}

function benchmarkOfSameData(
  benchmark: Benchmark,
  { identity: { dataHash }, exampleCount, source }: BenchmarkPlan,
  { dependencies, request }: Asked,
): ResultIdentity {
  const draft = { dataHash, exampleCount };
  return workOf(dependencies, benchmark, { request, source, draft }).identity;
}
