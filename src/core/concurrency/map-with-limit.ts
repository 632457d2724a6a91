/**
 * Map with at most `limit` calls in flight. Results keep the input order.
 *
 * Uses promises only — no timers, no clock — so workflows may call it.
 */
export async function mapWithLimit<Item, Result>(
  items: readonly Item[],
  limit: number,
  run: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();

  async function drain(): Promise<void> {
    for (const [index, item] of queue) {
      results[index] = await run(item, index);
    }
  }

  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, drain));
  return results;
}
