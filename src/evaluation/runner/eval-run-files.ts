import { join } from 'node:path';
import type { BenchmarkRequest, ModelSource } from '../../core/benchmark-run';
import { listBenchmarks } from '../../stores/eval-places';
import type { EvalRunMetadata } from '../../stores/eval-run-store';
import type { StoredResult } from '../../stores/eval-store';
import { loadResult, writeSummary } from '../../stores/eval-store';
import { createWholeFile, readJson, writeJson } from '../../stores/whole-file';

/** How often the results are listed again because another benchmark finished meanwhile. */
const MOST_ROUNDS = 5;

/** Writes `metadata.json` of an eval run that has none. */
export async function describeEvalRun(request: BenchmarkRequest, timestamp: string): Promise<void> {
  const { model, run, folder, benchmark, ...config } = request;
  const { path, name } = checkpointOf(model);
  const metadata: EvalRunMetadata = {
    run_id: run,
    model_name: model.model,
    checkpoint_path: path,
    checkpoint_name: name,
    benchmarks: [benchmark],
    timestamp,
    config: { ...config, model },
    scores: {},
  };
  await createWholeFile(metadataPath(folder), `${JSON.stringify(metadata, null, 2)}\n`);
}

/**
 * Rewrites `summary.json` and the scores of `metadata.json` from the results there are. Benchmarks that finish at the same
 * time write one after another what each of them sees; the last one sees all.
 */
export async function summarizeEvalRun(folder: string): Promise<void> {
  let written = '';
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const results = await readResults(folder);
    const seen = JSON.stringify(results.map(({ name, score, time_seconds }) => [name, score, time_seconds]));
    if (seen === written) return;
    await writeSummary(folder, results);
    await updateMetadata(folder, results);
    written = seen;
  }
}

async function readResults(folder: string): Promise<StoredResult[]> {
  const { finished } = await listBenchmarks(folder);
  const results = await Promise.all(finished.map((benchmark) => loadResult(folder, benchmark)));
  return results.filter((result) => result !== null);
}

async function updateMetadata(folder: string, results: readonly StoredResult[]): Promise<void> {
  const metadata = await readJson<EvalRunMetadata>(metadataPath(folder));
  if (!metadata) return;
  const scores = Object.fromEntries(results.map(({ name, score }) => [name, score]));
  const benchmarks = [...new Set([...metadata.benchmarks, ...Object.keys(scores)])];
  await writeJson(metadataPath(folder), { ...metadata, benchmarks, scores });
}

function metadataPath(folder: string): string {
  return join(folder, 'metadata.json');
}

function checkpointOf(model: ModelSource): { path: string | null; name: string | null } {
  if (model.type === 'endpoint') return { path: null, name: null };
  return { path: model.path, name: model.label };
}
