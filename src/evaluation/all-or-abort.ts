import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { linkedAbort } from './linked-abort';

/**
 * Runs work for all items, at most `limit` at once. The first failure calls the others off, and is thrown when they have
 * ended, so that nothing is left running behind the caller's back.
 */
export async function allOrAbort<Item, Result>(
  items: readonly Item[],
  { signal, limit = Infinity }: { readonly signal: AbortSignal; readonly limit?: number },
  run: (item: Item, signal: AbortSignal, index: number) => Promise<Result>,
): Promise<Result[]> {
  signal.throwIfAborted();
  const callOff = linkedAbort(signal);
  const failures: unknown[] = [];
  const results = await mapWithLimit(items, limit, async (item, index) => {
    if (callOff.signal.aborted) return [];
    try {
      return [await run(item, callOff.signal, index)];
    } catch (error) {
      failures.push(error);
      callOff.abort(error);
      return [];
    }
  });
  callOff.release();
  signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  return results.flat();
}
