import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchmarkRequest } from '../../core/benchmark-run';
import { findBenchmark } from '../benchmarks';
import { withinDates } from '../benchmarks/date-window';
import { identifyInspect } from '../inspect/inspect-benchmark';
import type { InspectAccess } from '../inspect/run/inspect-access';
import { lookUpKind } from '../kinds';
import type { BenchmarkPlan } from './benchmark-plan';
import { draftExamples, LEAST_UNITS_A_SHARD } from './draft-examples';
import { identifyKind } from './kind-benchmark';
import type { PlanDependencies } from './plan-benchmark';
import { workOf } from './planned-work';

/** What it takes to know what a result would be made of. */
export interface IdentifyDependencies extends Omit<PlanDependencies, 'now' | 'inspect'> {
  readonly inspect?: Pick<InspectAccess, 'cacheFolder'>;
}

/** What a result of this request would be made of, and under which name. Reads the data and asks no model. */
export async function identifyBenchmark(
  dependencies: IdentifyDependencies,
  request: BenchmarkRequest,
): Promise<Pick<BenchmarkPlan, 'benchmark' | 'identity'>> {
  const { inspectTask: task } = request;
  if (task) return identifyInspect(dependencies, task, request);
  const plugins = await dependencies.loadPlugins(request.plugins);
  const kind = lookUpKind(request.benchmark, plugins);
  if (kind) return identifyKind(dependencies, kind, request);
  const benchmark = withinDates(findBenchmark(request.benchmark, plugins), request);
  const folder = await mkdtemp(join(tmpdir(), 'everstep-examples-'));
  try {
    const asked = { ...request, benchmark: benchmark.name };
    const path = join(folder, 'examples.jsonl');
    const sizeOf = () => LEAST_UNITS_A_SHARD;
    const { source, draft } = await draftExamples(dependencies, benchmark, { request: asked, path, sizeOf });
    const { identity } = workOf(dependencies, benchmark, { request: asked, source, draft });
    return { benchmark: benchmark.name, identity };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
