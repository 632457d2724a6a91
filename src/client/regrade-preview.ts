import type { Environment } from '../config/environment';
import { findBenchmark } from '../evaluation/benchmarks';
import { withinDates } from '../evaluation/benchmarks/date-window';
import type { RegradingPreview } from '../evaluation/regrade/plan-regrading';
import { previewRegrading } from '../evaluation/regrade/plan-regrading';
import { identifyDependencies } from './eval-identity';
import type { RegradeOptions } from './regrade';
import { regradeRequests } from './regrade';

/** What grading again would change, as this machine sees it. Starts nothing and writes nothing. */
export async function previewRegradings(
  options: RegradeOptions,
  environment: Environment,
): Promise<RegradingPreview[]> {
  const dependencies = identifyDependencies(environment);
  const requests = await regradeRequests(options, environment.dataFolder);
  return Promise.all(
    requests.map(async (request) => {
      const plugins = await dependencies.loadPlugins(request.plugins);
      const benchmark = withinDates(findBenchmark(request.benchmark, plugins), request);
      return previewRegrading(dependencies, benchmark, request);
    }),
  );
}
