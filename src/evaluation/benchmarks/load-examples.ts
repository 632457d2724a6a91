import { shuffledIndices } from '../../core/random';
import type { RowPlace } from '../../datasets/row-place';
import type { RowStream } from '../../datasets/read-rows';
import { readRows, streamRows } from '../../datasets/read-rows';
import type { Example } from '../example';
import { UniqueIds, withUniqueIds } from '../example';
import type { Benchmark } from './benchmark';
import type { BenchmarkRows, ReadBenchmarkRows } from './benchmark-rows';
import { exampleOfRow, examplesOfRows } from './example-of-row';

export interface LoadedExamples {
  readonly examples: readonly Example[];
  /** Where the rows came from. */
  readonly source: string;
  /** Rows that its declaration makes no examples of. */
  readonly leftOut: readonly RowPlace[];
}

/** All examples of a benchmark in its own order, so that the first n are a fair sample. */
export async function loadExamples(benchmark: Benchmark, read: ReadBenchmarkRows): Promise<LoadedExamples> {
  const { name, data, orderSeed } = benchmark;
  const rows = await readDeclaredRows(name, data, read);
  const { examples: declared, leftOut } = examplesOfRows(benchmark, rows);
  const examples = withUniqueIds(declared);
  const { source } = rows;
  if (orderSeed === null) return { examples, source, leftOut };
  const order = [...shuffledIndices(examples.length, orderSeed)];
  return { examples: order.flatMap((index) => examples[index] ?? []), source, leftOut };
}

export interface ExampleStream {
  readonly examples: AsyncIterable<Example>;
  readonly source: string;
}

/** All examples of a benchmark one after another, in the order of their rows and not in the benchmark's own. */
export async function streamExamples(benchmark: Benchmark, read: ReadBenchmarkRows): Promise<ExampleStream> {
  const { rows, source } = await streamDeclaredRows(benchmark, read);
  return { examples: examplesOf(benchmark, rows, source), source };
}

async function* examplesOf(
  benchmark: Benchmark,
  rows: RowStream['rows'],
  source: string,
): AsyncGenerator<Example> {
  const ids = new UniqueIds();
  let index = 0;
  for await (const row of rows) {
    const example = exampleOfRow(benchmark, row, { index: index++, source });
    if (example) yield ids.give(example);
  }
}

async function streamDeclaredRows({ name, data }: Benchmark, read: ReadBenchmarkRows): Promise<RowStream> {
  if ('path' in data) return streamRows(data);
  if (!('rows' in data) && read.stream) return read.stream(name, data);
  const { rows, source } = await readDeclaredRows(name, data, read);
  return {
    rows: (async function* () {
      yield* rows;
    })(),
    source,
  };
}

/** The rows a declaration names, wherever they are. */
export async function readDeclaredRows(
  name: string,
  data: Benchmark['data'],
  read: ReadBenchmarkRows,
): Promise<BenchmarkRows> {
  if ('rows' in data) return { rows: data.rows(), source: 'made by code' };
  return 'path' in data ? readRows(data) : read(name, data);
}
