import { join } from 'node:path';
import type { Environment } from '../config/environment';
import type { BackfillRequest, MatrixCell } from '../core/backfill';
import { applyFinding, describeCells } from '../core/backfill';
import type { ModelSource } from '../core/benchmark-run';
import { readBackfillRecord } from '../evaluation/backfill/backfill-record';
import { findCells } from '../evaluation/backfill/find-cells';
import { createBenchmarkRowReader } from '../evaluation/benchmarks/benchmark-rows';
import { rendererFor } from '../training/model-checks';
import { pluginsOf } from '../training/plugin-file';

/** The matrix of a backfill as the store has it: present or missing, and why a missing one failed last time. */
export async function lookUpMatrix(
  request: BackfillRequest,
  environment: Environment,
): Promise<MatrixCell[]> {
  const { name, store, asking, inspectTasks, checkpoints, benchmarks } = request;
  const dependencies = lookUpDependencies(environment);
  const columns = await Promise.all(
    benchmarks.map(async (benchmark, column) => {
      const wanted = { store, asking, checkpoints, benchmark, ...(inspectTasks && { inspectTasks }) };
      const findings = await findCells(dependencies, wanted);
      return findings.map((finding, row) => applyFinding({ row, column, status: 'unknown' }, finding));
    }),
  );
  const before = (await readBackfillRecord(store, name))?.cells ?? [];
  const reasons = new Map(before.map((cell) => [keyOf(cell), cell.reason]));
  return describeCells(request, columns.flat()).map((cell) =>
    cell.status === 'missing' ? { ...cell, reason: reasons.get(keyOf(cell)) ?? null } : cell,
  );
}

function lookUpDependencies(environment: Environment) {
  const { dataFolder, huggingFaceToken, huggingFaceUrl, benchmarkDataFolder, cacheFolder } = environment;
  const hub = {
    cacheFolder: join(dataFolder, 'cache'),
    ...(huggingFaceToken !== null && { token: huggingFaceToken }),
    ...(huggingFaceUrl !== null && { hubUrl: huggingFaceUrl }),
  };
  return {
    readBenchmarkRows: (folder = benchmarkDataFolder ?? undefined) =>
      createBenchmarkRowReader({ hub, ...(folder !== undefined && { dataFolder: folder }) }),
    loadPlugins: pluginsOf,
    models: { promptFormat },
    inspect: { cacheFolder },
  };
}

function promptFormat(source: ModelSource): string {
  if (source.type === 'endpoint') return source.api;
  return rendererFor({ model: source.model, renderer: source.renderer });
}

function keyOf({ run, step, benchmark }: MatrixCell): string {
  return JSON.stringify([run, step, benchmark]);
}
