import { join } from 'node:path';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { Journal } from '../../stores/fenced-journal';
import { openJournal } from '../../stores/fenced-journal';
import { allOrAbort } from '../all-or-abort';
import { Turns } from '../turns';
import type { CellWork } from './evaluation-context';

/** A row of a cell's journal: paid work that is never done twice. */
export interface KeyedRow {
  readonly key: string;
}

export interface JournalledWork extends Pick<CellWork, 'folder' | 'epoch'> {
  /** Hears that its rows wait for room. */
  readonly onWaiting?: TellWaiting | undefined;
}

/** Opens `journal/<stage>.jsonl` of a cell, uses it, and leaves it synced. Throws `superseded` when overtaken meanwhile. */
export async function withJournal<Row extends KeyedRow, Result>(
  { folder, epoch, onWaiting }: JournalledWork,
  stage: string,
  use: (journal: Journal<Row>) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, 'journal', `${stage}.jsonl`);
  const journal = await openJournal<Row>({ path, epoch, keyOf: ({ key }) => key, onWaiting });
  try {
    const result = await use(journal);
    // An attempt that was overtaken while it finished must not write results over its successor's.
    journal.verify();
    return result;
  } finally {
    await journal.close();
  }
}

/** What a cell writes, with what keeps it from being written told as the cell's waiting. */
export function ofCell({ folder, epoch, onProgress }: CellWork): JournalledWork {
  return {
    folder,
    epoch,
    onWaiting: (waiting) => {
      onProgress({ waiting });
    },
  };
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
