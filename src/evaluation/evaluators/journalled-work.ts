import { join } from 'node:path';
import { mapWithLimit } from '../../core/concurrency/map-with-limit';
import type { Journal } from '../../stores/fenced-journal';
import { openJournal } from '../../stores/fenced-journal';
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

export interface LimitedWork {
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Maps with a limit; when one call fails, the others are aborted and waited for before its error is thrown, so that
 * nothing writes to a journal that is closed.
 */
export async function mapUntilFailure<Item, Result>(
  items: readonly Item[],
  { limit, signal }: LimitedWork,
  run: (item: Item, signal: AbortSignal, index: number) => Promise<Result>,
): Promise<Result[]> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const failures: unknown[] = [];
  const turns = new Turns();
  const results = await mapWithLimit(items, limit, async (item, index) => {
    await turns.next();
    if (both.aborted) return [];
    try {
      return [await run(item, both, index)];
    } catch (error) {
      failures.push(error);
      stop.abort(error);
      return [];
    }
  });
  signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  return results.flat();
}
