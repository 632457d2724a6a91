import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DomainError } from '../../core/errors';
import type { SkippedRow } from '../../datasets/dataset';
import type { HubAccess } from '../../hub/hub-access';
import type { RowStream } from '../../datasets/read-rows';
import { streamRows } from '../../datasets/read-rows';
import type { Row } from '../graders/row-grader';
import type { HubRows } from './benchmark';

export interface BenchmarkRows {
  readonly rows: readonly Row[];
  /** Where they came from, for the record. */
  readonly source: string;
  /** Rows of the file that cannot be read, where they are listed. */
  readonly unread?: readonly SkippedRow[];
}

/** Reads the rows of a benchmark that are not made by code. */
export interface ReadBenchmarkRows {
  (benchmark: string, data: HubRows): Promise<BenchmarkRows>;
  /** One after another, however many there are; without it all are read at once. */
  readonly stream?: (benchmark: string, data: HubRows) => Promise<RowStream>;
}

export interface BenchmarkRowsPlaces {
  readonly hub: HubAccess;
  /** Holds `<benchmark>/data.jsonl` (EVERSTEP_DATA_DIR); goes before the hub. */
  readonly dataFolder?: string;
}

export function createBenchmarkRowReader({ hub, dataFolder }: BenchmarkRowsPlaces): ReadBenchmarkRows {
  const stream = async (benchmark: string, data: HubRows): Promise<RowStream> => {
    const { completeFrom } = data;
    const local = localNames(benchmark, data);
    const places = dataFolder === undefined ? [] : local.map((name) => join(dataFolder, name));
    const path = places.find((place) => existsSync(place));
    const stream =
      path === undefined
        ? await streamFromHub(data, hub).catch((error: unknown) => {
            throw withPlace(
              error,
              local.map((name) => join(dataFolder ?? 'EVERSTEP_DATA_DIR', name)),
              dataFolder,
            );
          })
        : await streamRows({ path });
    if (!completeFrom) return stream;
    const beside = path ?? places[0];
    return completed(stream, await completeFrom(beside === undefined ? null : dirname(beside)));
  };
  const read = async (benchmark: string, data: HubRows): Promise<BenchmarkRows> => {
    const { rows, source } = await stream(benchmark, data);
    return { rows: await collect(rows), source };
  };
  return Object.assign(read, { stream });
}

function localNames(
  benchmark: string,
  { local = [join(benchmark, 'data.jsonl')] }: HubRows,
): readonly string[] {
  return local;
}

/** Where rows of a benchmark are told to be from: `source` as it was when they were read, and the folder of data as it is now. */
export interface RowsOrigin {
  readonly source: string;
  readonly dataFolder: string | undefined;
}

/** Rows of a commit of the hub are the same for ever: what was read of it need not be read again to know that. */
export function isPinnedRead(benchmark: string, data: HubRows, { source, dataFolder }: RowsOrigin): boolean {
  const { hub, revision, completeFrom } = data;
  if (revision === null || completeFrom || isLocal(benchmark, data, dataFolder)) return false;
  return /^[0-9a-f]{40}$/.test(revision) && source.startsWith(`${hub}@${revision.slice(0, 12)} `);
}

/** Whether rows lie in a folder of data, where they go before the hub. */
export function isLocal(benchmark: string, data: HubRows, dataFolder: string | undefined): boolean {
  if (dataFolder === undefined) return false;
  return localNames(benchmark, data).some((name) => existsSync(join(dataFolder, name)));
}

/** What is said of any dataset ends with a remedy that a benchmark has another way for. */
const PLAIN_REMEDY = ' Or save the files and give their path.';

function withPlace(error: unknown, places: readonly string[], dataFolder: string | undefined): unknown {
  if (!(error instanceof DomainError)) return error;
  const where = `Or put its rows at ${places.join(' or ')}`;
  const remedy = dataFolder === undefined ? `${where}; that variable names a folder of data.` : `${where}.`;
  const { code, retryable, category } = error;
  const options = { retryable, cause: error, ...(category && { category }) };
  return new DomainError(code, `${error.message.replace(PLAIN_REMEDY, '')} ${remedy}`, options);
}

function completed({ rows, ...stream }: RowStream, complete: (row: Row) => Row): RowStream {
  return {
    ...stream,
    rows: (async function* () {
      for await (const row of rows) yield complete(row);
    })(),
  };
}

async function collect(stream: AsyncIterable<Row>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of stream) rows.push(row);
  return rows;
}

/** All subsets are there before the first row is given. */
async function streamFromHub(data: HubRows, access: HubAccess): Promise<RowStream> {
  const parts: { readonly config: string | undefined; readonly stream: RowStream }[] = [];
  for (const config of data.configs ?? [undefined]) {
    const stream = await streamRows({
      hub: data.hub,
      split: data.split,
      ...(config !== undefined && { config }),
      ...(data.revision !== null && { revision: data.revision }),
      ...(data.files !== undefined && { file: data.files }),
      ...access,
    });
    parts.push({ config, stream });
  }
  return {
    rows: (async function* () {
      for (const { config, stream } of parts) {
        for await (const row of stream.rows) yield withConfig(row, data.configField, config);
      }
    })(),
    source: parts.map(({ stream }) => stream.source).join(', '),
  };
}

function withConfig(row: Row, field: string | undefined, config: string | undefined): Row {
  return field === undefined || config === undefined ? row : { ...row, [field]: config };
}
