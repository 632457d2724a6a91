import type { Environment } from '../config/environment';
import type { BackfillRequest, MatrixCell } from '../core/backfill';
import { applyFinding, describeCells } from '../core/backfill';
import { readBackfillRecord } from '../evaluation/backfill/backfill-record';
import { findCells } from '../evaluation/backfill/find-cells';
import { identifyDependencies } from './eval-identity';

/** The matrix of a backfill as the store has it: present or missing, and why a missing one failed last time. */
export async function lookUpMatrix(
  request: BackfillRequest,
  environment: Environment,
): Promise<MatrixCell[]> {
  const { name, store, asking, inspectTasks, checkpoints, benchmarks } = request;
  const dependencies = identifyDependencies(environment);
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

function keyOf({ run, step, benchmark }: MatrixCell): string {
  return JSON.stringify([run, step, benchmark]);
}
