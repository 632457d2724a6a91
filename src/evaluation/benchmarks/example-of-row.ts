import { DomainError } from '../../core/errors';
import { escapeControls } from '../../core/escape-controls';
import { readEachRow } from '../../datasets/read-each-row';
import type { RowPlace } from '../../datasets/row-place';
import { placeOfRow, withPlace } from '../../datasets/row-place';
import { askableError, messageOf } from '../error-message';
import type { Example } from '../example';
import type { Row } from '../graders/row-grader';
import type { Benchmark } from './benchmark';
import type { BenchmarkRows } from './benchmark-rows';

export interface RowOrigin {
  /** From 0, in the order of the rows. */
  readonly index: number;
  /** Where the rows came from. */
  readonly source: string;
}

/** The example of a row. A row of another shape is refused by benchmark, file and line. */
export function exampleOfRow(
  benchmark: Pick<Benchmark, 'name' | 'toExample'>,
  row: Row,
  { index, source }: RowOrigin,
): Example | null {
  return namingRow({ name: benchmark.name, row, index, source }, () =>
    declaredExample(benchmark, row, index),
  );
}

export interface ReadExamples {
  readonly examples: readonly Example[];
  /** Rows that are no examples of it. */
  readonly leftOut: readonly RowPlace[];
}

/** The examples of all rows. Those of another shape are refused together, by benchmark, file and line. */
export function examplesOfRows(
  benchmark: Pick<Benchmark, 'name' | 'toExample'>,
  rows: BenchmarkRows,
): ReadExamples {
  const leftOut: RowPlace[] = [];
  const read = (row: Row, index: number) => {
    const example = declaredExample(benchmark, row, index);
    const place = placeOfRow(row);
    if (example === null && place) leftOut.push(place);
    if (example === null) return [];
    return place ? withPlace({ ...example }, place) : example;
  };
  return { examples: readEachRow(rows, read, { name: benchmark.name }).flat(), leftOut };
}

function declaredExample(benchmark: Pick<Benchmark, 'toExample'>, row: Row, index: number): Example | null {
  try {
    return benchmark.toExample(row, index);
  } catch (thrown) {
    const error = askableError(thrown);
    // What a declaration stumbles over is the row it was given.
    throw error instanceof DomainError ? error : new DomainError('bad-dataset', messageOf(error));
  }
}

export interface NamedRow extends RowOrigin {
  /** Of the benchmark or task. */
  readonly name: string;
  readonly row: Row;
}

/** Says of a refused row which one it is. */
export function namingRow<Value>({ name, row, index, source }: NamedRow, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'bad-dataset') throw error;
    const place = placeOfRow(row)?.text ?? `${source} row ${index + 1}`;
    const reason = escapeControls(error.message.replace(/^example: /, ''));
    throw new DomainError('bad-dataset', `${name}: ${place}: ${reason}`, { cause: error });
  }
}
