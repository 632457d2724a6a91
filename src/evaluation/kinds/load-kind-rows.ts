import type { BenchmarkRows, ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import { readDeclaredRows } from '../benchmarks/load-examples';
import type { Kind } from './kind';

/** The rows of a task: made by code, from `EVERSTEP_DATA_DIR/<task>/data.jsonl`, or from the hub. */
export function loadKindRows({ name, data }: Kind, read: ReadBenchmarkRows): Promise<BenchmarkRows> {
  return readDeclaredRows(name, data, read);
}
