/** What tells a row from others. Numbers are counts: rows come in their order, more or less without gaps. */
export type RowKey = string | number;

/**
 * What a writer remembers of the rows of its file: every key, so that none is written twice, and the newest rows.
 *
 * Keys that count are kept as ranges. A journal of steps therefore takes no more memory after a million of them.
 */
export class RowMemory<Row extends object> {
  private readonly counts = new CountRanges();
  private readonly names = new Set<string>();
  private readonly newest = new Map<RowKey, Row>();
  private lastRow: Row | undefined;

  constructor(private readonly rowLimit = Infinity) {}

  has(key: RowKey): boolean {
    return typeof key === 'number' ? this.counts.has(key) : this.names.has(key);
  }

  /** A row among the newest. */
  get(key: RowKey): Row | undefined {
    return this.newest.get(key);
  }

  rows(): readonly Row[] {
    return [...this.newest.values()];
  }

  last(): Row | undefined {
    return this.lastRow;
  }

  add(key: RowKey, row: Row): void {
    if (typeof key === 'number') this.counts.add(key);
    else this.names.add(key);
    this.lastRow = row;
    this.newest.set(key, row);
    if (this.newest.size <= this.rowLimit) return;
    const [oldest] = this.newest.keys();
    if (oldest !== undefined) this.newest.delete(oldest);
  }
}

/** A set of whole numbers, as the ranges between its gaps. */
class CountRanges {
  private readonly ranges: { from: number; to: number }[] = [];

  has(count: number): boolean {
    const range = this.ranges[this.indexBefore(count)];
    return range !== undefined && count <= range.to;
  }

  add(count: number): void {
    if (this.has(count)) return;
    const index = this.indexBefore(count);
    const before = this.ranges[index];
    const after = this.ranges[index + 1];
    const range = { from: count, to: count };
    const joined = [before?.to === count - 1, after?.from === count + 1] as const;
    if (before && joined[0]) range.from = before.from;
    if (after && joined[1]) range.to = after.to;
    const firstReplaced = joined[0] ? index : index + 1;
    this.ranges.splice(firstReplaced, Number(joined[0]) + Number(joined[1]), range);
  }

  /** Of the last range that begins at or before this number; -1 where there is none. */
  private indexBefore(count: number): number {
    let [low, high] = [0, this.ranges.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.ranges[middle]?.from ?? Infinity) <= count) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
