import type { SupervisedConfig } from '../config/supervised-config';
import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import type { ConversationRow, LoadedDataset, SkippedRow } from '../datasets/dataset';
import { findRenderer } from '../renderers/find-renderer';
import { createDatasetReader } from './dataset-source';
import { rendererFor } from './model-checks';
import type { ExampleContext, PreparedRow } from './prepare-examples';
import { checkHeldOut, lengthLimit, prepareRow } from './prepare-examples';
import { splitRows } from './prepare-supervised-data';
import { countRepliesWithoutReasoning } from './replies-without-reasoning';
import { showPrompts } from './reinforcement/show-prompts';
import type { DataRow, HeldOutRows, RefusedRow, RenderedRow, ShowAccess } from './shown-row';
import { asShown, shownPlace } from './shown-row';

/** What a run of this config would train on, row by row in the order of its files; what it would refuse is a row too. */
export async function* showData(
  config: TrainingConfig,
  access: ShowAccess,
): AsyncGenerator<DataRow | HeldOutRows> {
  const name = rendererFor(config);
  const tokenizer = await access.tokenizerOf(config.model);
  const site = { tokenizer, renderer: findRenderer(name, tokenizer, config.templateArguments) };
  if (config.kind === 'sft') yield* showConversations(config, access, site);
  else yield* showPrompts(config, access, site);
}

type Site = Pick<Parameters<typeof prepareRow>[1], 'renderer' | 'tokenizer'>;

async function* showConversations(
  config: SupervisedConfig,
  { datasets }: ShowAccess,
  site: Site,
): AsyncGenerator<DataRow | HeldOutRows> {
  const readDataset = createDatasetReader({ ...datasets, listsBadRows: true });
  const dataset = await readDataset(config.dataset);
  const isEmpty = dataset.rows.length === 0 && config.dataset.testPath === undefined;
  const { train, test, testSet } = isEmpty
    ? { train: [], test: [] }
    : await splitRows({ readDataset }, config, dataset);
  const isLeftOut = config.dataset.onBadRow === 'skip';
  const context = { ...site, config, contextLength: null, onProgress: () => undefined };
  const limit = lengthLimit(context);
  for (const [index, row] of inOrder(dataset, new Set(train))) {
    if ('reason' in row) {
      yield { ...badRow(row), isLeftOut };
      continue;
    }
    const name = nameOf(row);
    try {
      const prepared = await prepareRow({ row, index, limit }, context);
      if ('reason' in prepared) yield { row: name, refused: prepared.reason, isLeftOut };
      else yield { row: name, ...shownWhole(row, prepared, site) };
    } catch (error) {
      yield { row: name, refused: reasonOf(error) };
    }
  }
  if (test.length > 0) yield { heldOut: test.length };
  for await (const row of refusedHeldOut(testSet ?? { ...dataset, skipped: [] }, test, context)) {
    yield { ...row, of: 'held-out', isLeftOut };
  }
}

/** Of held-out rows only those that a run would refuse, or leave out. */
async function* refusedHeldOut(
  dataset: LoadedDataset,
  test: readonly ConversationRow[],
  context: ExampleContext,
): AsyncGenerator<RefusedRow> {
  for (const [, row] of inOrder(dataset, new Set(test))) {
    if ('reason' in row) {
      yield badRow(row);
      continue;
    }
    try {
      const { refused } = await checkHeldOut([row], context);
      for (const { reason } of refused) yield { row: nameOf(row), refused: reason };
    } catch (error) {
      yield { row: nameOf(row), refused: reasonOf(error) };
    }
  }
}

function shownWhole(
  { messages }: ConversationRow,
  prepared: PreparedRow,
  { tokenizer }: Site,
): Omit<RenderedRow, 'row'> {
  const shown = { ...asShown(prepared, tokenizer), fullLength: prepared.fullLength };
  const left = shown.cut ? 0 : countRepliesWithoutReasoning(messages, shown.text);
  const { emptyReplies } = prepared;
  return {
    ...shown,
    ...(left > 0 && { repliesWithoutReasoning: left }),
    ...(emptyReplies > 0 && { emptyReplies }),
  };
}

/** What the preparation of a run adds, because it ends there, says nothing where rows are only shown. */
function reasonOf(error: unknown): string {
  if (!(error instanceof DomainError)) throw error;
  return error.cause instanceof DomainError ? error.cause.message : error.message;
}

function badRow({ file, line, reason, others }: SkippedRow): RefusedRow {
  return { row: `${file}:${line}`, refused: reason, ...(others !== undefined && { others }) };
}

function nameOf({ place, id }: ConversationRow): string {
  return place === undefined ? id : shownPlace(place);
}

/** Training rows with their numbers among those, and bad rows where they stood. */
function* inOrder(
  { rows, skipped, source }: LoadedDataset,
  train: ReadonlySet<ConversationRow>,
): Generator<[number, ConversationRow | SkippedRow]> {
  const fileOrder = new Map(source.files.map((file, index) => [file, index]));
  const keyOf = (place: string): [number, number] => {
    const at = place.lastIndexOf(':');
    return [fileOrder.get(place.slice(0, at)) ?? 0, Number(place.slice(at + 1))];
  };
  const isBefore = (one: string, other: string) => {
    const [[file, line], [otherFile, otherLine]] = [keyOf(one), keyOf(other)];
    return file === otherFile ? line < otherLine : file < otherFile;
  };
  let [index, next] = [0, 0];
  for (const row of rows) {
    for (let bad = skipped[next]; bad && isBefore(`${bad.file}:${bad.line}`, nameOf(row));) {
      yield [index, bad];
      bad = skipped[++next];
    }
    if (train.has(row)) yield [index++, row];
  }
  for (const bad of skipped.slice(next)) yield [index, bad];
}
