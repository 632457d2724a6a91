import type { Journal } from '../../../../src/stores/fenced-journal';
import { DomainError } from '../../../../src/core/errors';
import { RowWriter } from '../../../../src/evaluation/runner/row-writer';

interface Row {
  readonly key: string;
}

/** As much of a journal as a writer uses, the rest is not called; `write` sees each row. */
function journalOf(write: (row: Row) => void): Journal<Row> {
  const journal: Partial<Journal<Row>> = {
    appendAll(rows) {
      for (const row of rows) write(row);
    },
    verify: () => undefined,
  };
  return journal as Journal<Row>;
}

const signal = new AbortController().signal;

test('writes what a row refers to before the row', async () => {
  const written: string[] = [];
  const journal = journalOf(({ key }) => written.push(key));
  const samples = new RowWriter(journal, { signal, onFailure: fail });
  const grades = new RowWriter(journal, { signal, onFailure: fail, after: samples });

  samples.add({ key: 'sample' });
  grades.add({ key: 'grade' });
  await grades.flush();

  expect(written).toEqual(['sample', 'grade']);
});

test('writes no row whose reference could not be written', async () => {
  const written: string[] = [];
  const failures: unknown[] = [];
  const broken = journalOf(() => {
    throw new Error('disk');
  });
  const onFailure = (error: unknown) => failures.push(error);
  const samples = new RowWriter(broken, { signal, onFailure });
  const grades = new RowWriter(
    journalOf(({ key }) => written.push(key)),
    { signal, onFailure, after: samples },
  );

  samples.add({ key: 'sample' });
  grades.add({ key: 'grade' });
  await grades.end();

  expect(failures).toHaveLength(1);
  expect(written).toEqual([]);
});

test('says why rows wait for room, and when they are written', async () => {
  const written: string[] = [];
  const said: (string | null)[] = [];
  const full = journalOf(({ key }) => {
    if (said.length < 2) throw new DomainError('store-full', 'no room is left', { retryable: true });
    written.push(key);
  });
  const writer = new RowWriter(full, { signal, onFailure: fail, onWaiting: (reason) => said.push(reason) });

  writer.add({ key: 'sample' });
  await writer.end();

  expect(said).toEqual(['no room is left', 'no room is left', null]);
  expect(written).toEqual(['sample']);
});

function fail(error: unknown): never {
  throw error;
}
