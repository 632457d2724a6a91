import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { countListed, listBadRow, MOST_BAD_ROWS } from '../core/bad-row-list';
import { DomainError } from '../core/errors';
import { badRows } from './bad-rows';
import type {
  ConversationRow,
  DatasetFile,
  DatasetSource,
  LoadedDataset,
  RawRow,
  SkippedRow,
} from './dataset';
import type { FieldNames } from './field-names';
import { withRowNames } from './field-names';
import { streamFileRows } from './file-rows';
import { fetchHubDataset } from './hub-dataset';
import type { HubAccess } from '../hub/hub-access';
import type { HubDatasetSpec } from './hub-dataset';
import { findLocalFiles } from './local-files';
import { RowPlace, withPlace } from './row-place';
import { ProblemInRowNames, RowProblem } from './row-problem';
import type { RowReading } from './rows';
import type { ReplyUse } from './judged-rows';
import { toConversation } from './rows';

interface DatasetOptions {
  /**
   * `error` (default) refuses the dataset at the first file with bad rows, and names the first of them; `skip` leaves such rows out and lists them; `list` does so also
   * where no row is left.
   */
  readonly onBadRow?: 'error' | 'skip' | 'list';
  /** Keys of rows and messages that are left out although nobody knows them. */
  readonly ignoreKeys?: readonly string[];
  /** By what a field is read as, what rows call it. */
  readonly fields?: FieldNames;
  /** Each row has the items that a judge scores it by, in its field `rubric`. */
  readonly rubrics?: boolean;
  /** Each row ends with a reply, which a judge compares with. */
  readonly needsReply?: ReplyUse | null;
  /** Each row asks something, which is answered and judged. */
  readonly needsQuestion?: boolean;
}

interface LocalDatasetSpec extends DatasetOptions {
  /** A file, a folder of files, or a list of files: `.jsonl`, `.json` or `.parquet`. */
  readonly path: string | readonly string[];
}

export type DatasetSpec = LocalDatasetSpec | (HubDatasetSpec & HubAccess & DatasetOptions);

const PAUSE_EVERY = 25;
const SKIP = 'set onBadRow to "skip" to leave such rows out.';
/** The file was read anyway; those that come after it are not. */
const CORRECTING = {
  remedies: { one: ` Correct the row, or ${SKIP}`, many: `Correct the rows, or ${SKIP}` },
  elsewhere: ', which `npx everstep data show CONFIG` names',
};

/**
 * Reads a dataset of conversations, from local files or from the Hugging Face hub.
 *
 * Deterministic: the same bytes give the same rows in the same order. May be called again after a failure; files
 * already fetched are not fetched twice.
 */
export async function loadDataset(spec: DatasetSpec): Promise<LoadedDataset> {
  const { files, source } = 'hub' in spec ? await fetchHubDataset(spec) : await describeLocal(spec);
  const hash = createHash('sha256');
  const rows: ConversationRow[] = [];
  const skipped: SkippedRow[] = [];
  for (const file of files) {
    const raws = streamFileRows(file, (bytes) => hash.update(bytes));
    for await (const row of readConversations(raws, { file, skipped }, spec)) rows.push(row);
  }
  if (rows.length === 0 && !(spec.onBadRow === 'list' && skipped.length > 0))
    throw emptyDataset(source, skipped);
  return { rows, contentHash: hash.digest('hex'), source, skipped };
}

async function describeLocal(
  spec: LocalDatasetSpec,
): Promise<{ files: DatasetFile[]; source: DatasetSource }> {
  const files = await findLocalFiles(spec.path);
  const names = files.map((file) => file.name);
  return { files, source: { description: names.join(', '), files: names } };
}

/** `skipped` is given what is wrong with the others; where they are refused, no more are looked for than are listed. */
async function* readConversations(
  raws: AsyncIterable<RawRow>,
  { file, skipped }: { readonly file: DatasetFile; readonly skipped: SkippedRow[] },
  { onBadRow = 'error', ignoreKeys, ...options }: DatasetOptions,
): AsyncGenerator<ConversationRow> {
  const reading = { ...options, ignored: new Set(ignoreKeys) };
  let count = 0;
  for await (const raw of raws) {
    // An evaluation reads its dataset while training steps go on in the same process.
    if (++count % PAUSE_EVERY === 0) await nextTurn();
    const result = 'problem' in raw ? raw.problem : readRow(raw.value, reading);
    if (typeof result !== 'string') {
      const place = new RowPlace(file.name, raw.line);
      yield withPlace({ ...result, place: place.text }, place);
      continue;
    }
    listBadRow(skipped, { file: file.name, line: raw.line, reason: result });
    if (onBadRow === 'error' && skipped.length === MOST_BAD_ROWS)
      throw badRows(skipped, { ...CORRECTING, rowCount: count, isCutOff: true });
  }
  if (onBadRow === 'error' && skipped.length > 0) throw badRows(skipped, { ...CORRECTING, rowCount: count });
}

function readRow(value: unknown, reading: RowReading): ConversationRow | string {
  try {
    return toConversation(value, reading);
  } catch (error) {
    if (error instanceof ProblemInRowNames) return error.message;
    if (error instanceof RowProblem) return withRowNames(error.message, reading.fields ?? {}, value);
    throw error;
  }
}

function emptyDataset(source: DatasetSource, skipped: readonly SkippedRow[]): DomainError {
  const first = skipped[0];
  const why = first
    ? `all ${countListed(skipped)} rows were skipped, the first one because: ${first.reason}`
    : 'its files hold no rows.';
  return new DomainError(
    'bad-dataset',
    `Dataset ${source.description} is empty: ${why} Give a dataset with at least one conversation.`,
  );
}
