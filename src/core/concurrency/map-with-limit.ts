/**
 * Map with at most `limit` calls in flight. Results keep the input order. After a call that failed no other is begun; those
 * in flight are left to end by themselves.
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
  let hasFailed = false;

  async function drain(): Promise<void> {
    for (const [index, item] of queue) {
      try {
        results[index] = await run(item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
      if (hasFailed) return;
    }
  }

  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, drain));
  return results;
}
