import type { BenchmarkConfig, BenchmarkOptions } from '../config/benchmark-config';
import { parseBenchmarkConfig } from '../config/benchmark-config';
import { readEnvironment } from '../config/environment';
import type { BenchmarkRequest } from '../core/benchmark-run';
import { refuseOtherModel } from '../evaluation/runner/refuse-other-model';
import { locateResults } from '../stores/eval-places';
import type { WeightsPlace, WeightsView } from './eval-engine';
import { placeWeights } from './eval-engine';
import { requestsFor } from './eval-requests';
import { findSource } from './eval-source';
import { findJudges, placeJudges } from './judge-sources';
import type { RunRecords } from './run-records';

/** What a benchmark is asked with, and where its results go; see `BenchmarkConfig` for the defaults. */
export interface EvaluateOptions extends BenchmarkOptions {
  /** Name of the eval run; default: the model and a digest of what is asked. */
  readonly run?: string | undefined;
  /** Folder of its results; default `<store>/evals/<run>`. */
  readonly output?: string | undefined;
  /** Holds `<benchmark>/data.jsonl`; default EVERSTEP_DATA_DIR. */
  readonly dataFolder?: string | undefined;
  /** An eval run, by name or folder, whose answers to the same prompts are taken; only the rest is asked for. */
  readonly answersFrom?: string | undefined;
}

/** What is asked for on each benchmark, and where its results go. */
export async function evaluationRequests(
  benchmarks: string | readonly string[],
  options: EvaluateOptions,
  { records, store }: { readonly records: RunRecords; readonly store: string },
): Promise<BenchmarkRequest[]> {
  const { run, output, dataFolder, answersFrom } = options;
  const config = configOf(options);
  const source = await findSource(config, records);
  const { benchmarkDataFolder } = readEnvironment();
  const places = {
    store,
    run,
    output,
    dataFolder: dataFolder ?? benchmarkDataFolder ?? undefined,
    answersFrom: answersFrom && (await locateResults(answersFrom, store)).folder,
  };
  const judges = await findJudges(config, records);
  const requests = requestsFor([benchmarks].flat(), { config, source, ...judges }, places);
  await Promise.all(requests.map(refuseOtherModel));
  return requests;
}

/** Where the model of an evaluation, and those that judge, can be asked, as seen from here. */
export async function placeEvaluation(
  options: EvaluateOptions,
  records: RunRecords,
  views: { readonly model: WeightsView; readonly judges: WeightsView },
): Promise<WeightsPlace[]> {
  const config = configOf(options);
  const source = await findSource(config, records);
  const ofJudges = await placeJudges(config, records, views.judges);
  if (source.type === 'endpoint') return [{ at: 'service' }, ...ofJudges];
  return [await placeWeights(source, views.model), ...ofJudges];
}

/** What is asked, without where its results go. */
export function configOf(options: EvaluateOptions): BenchmarkConfig {
  const written = { ...options };
  for (const key of ['run', 'output', 'dataFolder', 'answersFrom']) Reflect.deleteProperty(written, key);
  return parseBenchmarkConfig(written);
}
