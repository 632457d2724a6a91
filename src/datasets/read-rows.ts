import { setImmediate as nextTurn } from 'node:timers/promises';
import { MOST_BAD_ROWS } from '../core/bad-row-list';
import { DomainError } from '../core/errors';
import { DEEPEST_ROW, isDeeperThan } from '../core/json-depth';
import type { DatasetFile, RawRow, SkippedRow } from './dataset';
import { copyAsWritten } from '../core/json-source';
import { requireFile } from './local-files';
import { streamFileRows } from './file-rows';
import type { HubAccess } from '../hub/hub-access';
import type { HubDatasetSpec } from './hub-dataset';
import { fetchHubDataset } from './hub-dataset';
import { RowPlace, withPlace } from './row-place';

type Row = Readonly<Record<string, unknown>>;

interface LocalRows {
  readonly path: string;
  /** The key of the config that names it, for messages. */
  readonly key?: string;
  /** Lists rows that cannot be read, and does not refuse the file at the first of them. */
  readonly listsUnread?: boolean;
  /** Rows know how their numbers were written (`jsonText`), which takes memory. */
  readonly keepsWriting?: boolean;
}

export type RowsSpec = LocalRows | (HubDatasetSpec & HubAccess);

export interface LoadedRows {
  readonly rows: readonly Row[];
  /** Where they came from, for the record: a path, or `owner/name@commit (split)`. */
  readonly source: string;
  /** Rows of the file that hold no object, where they are listed. */
  readonly unread?: readonly SkippedRow[];
}

const PAUSE_EVERY = 100;

export interface RowStream {
  readonly rows: AsyncIterable<Row>;
  readonly source: string;
}

/** Reads rows as their publisher wrote them. A row that is no object is refused, naming file and line. */
export async function readRows(spec: RowsSpec): Promise<LoadedRows> {
  const unread: SkippedRow[] = [];
  const { rows: stream, source } = await streamOf(spec, unread);
  const rows: Row[] = [];
  for await (const row of stream) rows.push(row);
  return { rows, source, ...(unread.length > 0 && { unread }) };
}

/** As `readRows`, one after another: where a file has a row a line, only a part of it is in memory. */
export async function streamRows(spec: RowsSpec): Promise<RowStream> {
  return streamOf(spec, []);
}

async function streamOf(spec: RowsSpec, unread: SkippedRow[]): Promise<RowStream> {
  if ('path' in spec) {
    await requireFile(spec.path, spec.key);
    const files = [{ name: spec.path, path: spec.path }];
    const reading = {
      ...(spec.listsUnread === true && { unread }),
      ...(spec.keepsWriting === true && { keepsWriting: true }),
    };
    return { rows: rowsOf(files, reading), source: spec.path };
  }
  const { files, source } = await fetchHubDataset(spec);
  return { rows: rowsOf(files), source: source.description };
}

interface Reading {
  readonly unread?: SkippedRow[];
  readonly keepsWriting?: boolean;
}

async function* rowsOf(files: readonly DatasetFile[], reading: Reading = {}): AsyncGenerator<Row> {
  for (const file of files) yield* rowsIn(file, reading);
}

async function* rowsIn(file: DatasetFile, { unread, keepsWriting = false }: Reading): AsyncGenerator<Row> {
  let count = 0;
  for await (const raw of streamFileRows(file)) {
    if (++count % PAUSE_EVERY === 0) await nextTurn();
    const place = new RowPlace(file.name, raw.line);
    const row = objectIn(raw, keepsWriting);
    if (typeof row !== 'string') {
      yield withPlace(row, place);
      continue;
    }
    if (!unread) throw new DomainError('bad-dataset', `${place.text}: ${row}`);
    unread.push({ file: file.name, line: raw.line, reason: row });
    // The file is refused for them, wherever they are listed.
    if (unread.length >= MOST_BAD_ROWS) return;
  }
}

/** The row, or what is wrong with it. */
function objectIn(raw: RawRow, keepsWriting: boolean): Row | string {
  if ('problem' in raw) return raw.problem;
  const { value } = raw;
  if (isDeeperThan(value, DEEPEST_ROW)) return TOO_DEEP;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return keepsWriting ? copyAsWritten(value) : { ...value };
  return Array.isArray(value) && value.length > 0 && value.every(isMessage) ? UNNAMED_MESSAGES : NO_OBJECT;
}

const TOO_DEEP = `lists and objects lie more than ${DEEPEST_ROW} deep in one another. Flatten them, or leave out what is not read.`;

const NO_OBJECT = 'a row has to be a JSON object.';
const UNNAMED_MESSAGES =
  'a row has to be a JSON object, and this is a list of messages. Write {"messages": [{"role": "user", "content": …}]}; of a problem, end it with the question and put the answer beside it, under "answer".';

function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('role' in value || 'from' in value);
}
