import { join } from 'node:path';
import type { Journal } from '../../stores/fenced-journal';
import { openJournal } from '../../stores/fenced-journal';
import { allOrAbort } from '../all-or-abort';
import { Turns } from '../turns';
import type { CellWork } from './evaluation-context';

/** A row of a cell's journal: paid work that is never done twice. */
export interface KeyedRow {
  readonly key: string;
}

/** Opens `journal/<stage>.jsonl` of a cell, uses it, and leaves it synced. Throws `superseded` when overtaken meanwhile. */
export async function withJournal<Row extends KeyedRow, Result>(
  work: Pick<CellWork, 'folder' | 'epoch'>,
  stage: string,
  use: (journal: Journal<Row>) => Promise<Result>,
): Promise<Result> {
  const path = join(work.folder, 'journal', `${stage}.jsonl`);
  const journal = await openJournal<Row>({ path, epoch: work.epoch, keyOf: ({ key }) => key });
  try {
    const result = await use(journal);
    // An attempt that was overtaken while it finished must not write results over its successor's.
    journal.verify();
    return result;
  } finally {
    await journal.close();
  }
}

/** As `allOrAbort`, so that nothing writes to a journal that is closed; items are begun in turns with what else there is to do. */
export function allInTurns<Item, Result>(
  items: readonly Item[],
  options: { readonly limit: number; readonly signal: AbortSignal },
  run: (item: Item, signal: AbortSignal, index: number) => Promise<Result>,
): Promise<Result[]> {
  const turns = new Turns();
  return allOrAbort(items, options, async (item, signal, index) => {
    await turns.next();
    signal.throwIfAborted();
    return run(item, signal, index);
  });
}
