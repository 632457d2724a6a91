import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../core/errors';
import type { DatasetFile } from './dataset';
import { requireFile } from './local-files';
import { rowWord, streamFileRows } from './file-rows';
import type { HubAccess, HubDatasetSpec } from './hub-dataset';
import { fetchHubDataset } from './hub-dataset';
import { withPlace } from './row-place';

type Row = Readonly<Record<string, unknown>>;

interface LocalRows {
  readonly path: string;
  /** The key of the config that names it, for messages. */
  readonly key?: string;
}

export type RowsSpec = LocalRows | (HubDatasetSpec & HubAccess);

export interface LoadedRows {
  readonly rows: readonly Row[];
  /** Where they came from, for the record: a path, or `owner/name@commit (split)`. */
  readonly source: string;
}

const PAUSE_EVERY = 100;

export interface RowStream {
  readonly rows: AsyncIterable<Row>;
  readonly source: string;
}

/** Reads rows as their publisher wrote them. A row that is no object is refused, naming file and line. */
export async function readRows(spec: RowsSpec): Promise<LoadedRows> {
  const { rows: stream, source } = await streamRows(spec);
  const rows: Row[] = [];
  for await (const row of stream) rows.push(row);
  return { rows, source };
}

/** As `readRows`, one after another: where a file has a row a line, only a part of it is in memory. */
export async function streamRows(spec: RowsSpec): Promise<RowStream> {
  if ('path' in spec) {
    await requireFile(spec.path, spec.key);
    return { rows: rowsOf([{ name: spec.path, path: spec.path }]), source: spec.path };
  }
  const { files, source } = await fetchHubDataset(spec);
  return { rows: rowsOf(files), source: source.description };
}

async function* rowsOf(files: readonly DatasetFile[]): AsyncGenerator<Row> {
  for (const file of files) {
    let count = 0;
    for await (const raw of streamFileRows(file)) {
      if (++count % PAUSE_EVERY === 0) await nextTurn();
      const where = `${file.name} ${rowWord(file.name)} ${raw.line}`;
      if ('problem' in raw) throw new DomainError('bad-dataset', `${where}: ${raw.problem}`);
      yield withPlace(requireObject(raw.value, where), where);
    }
  }
}

function requireObject(value: unknown, where: string): Row {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new DomainError('bad-dataset', `${where}: a row has to be a JSON object.`);
}
