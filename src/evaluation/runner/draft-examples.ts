import type { BenchmarkRequest } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { Benchmark } from '../benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import { streamExamples } from '../benchmarks/load-examples';
import type { DraftOrder } from './example-draft';
import { ExampleDraft } from './example-draft';

/** Samples of a shard, or more. */
export const LEAST_UNITS_A_SHARD = 2000;
/** So often a shard fills the places at the model: longer than the next shard takes to begin, even with fast answers. */
const ROUNDS_A_SHARD = 16;

export interface DraftPlan extends Pick<DraftOrder, 'sizeOf'> {
  readonly request: BenchmarkRequest;
  readonly path: string;
}

/** Reads a benchmark's examples and writes them beside where they belong. Refused where there are none. */
export async function draftExamples(
  {
    readBenchmarkRows,
  }: {
    readonly readBenchmarkRows: (dataFolder: string | undefined) => ReadBenchmarkRows;
  },
  benchmark: Benchmark,
  { request: { maxExamples, dataFolder }, path, sizeOf }: DraftPlan,
): Promise<{ readonly source: string; readonly draft: ExampleDraft }> {
  const { examples, source } = await streamExamples(benchmark, readBenchmarkRows(dataFolder));
  const { orderSeed } = benchmark;
  const draft = await ExampleDraft.write(path, { examples, orderSeed, maxExamples, sizeOf });
  if (draft.exampleCount > 0) return { source, draft };
  await draft.discard();
  throw new DomainError(
    'bad-dataset',
    `${benchmark.name}: ${source} has no examples. Check the data, or name another folder with EVERSTEP_DATA_DIR.`,
  );
}

/** How many examples a shard has. */
export function examplesPerShard({ numSamples, concurrency }: BenchmarkRequest): number {
  const units = Math.max(LEAST_UNITS_A_SHARD, concurrency * ROUNDS_A_SHARD);
  return Math.max(1, Math.floor(units / numSamples));
}
