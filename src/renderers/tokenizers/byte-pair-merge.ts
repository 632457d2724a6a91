/** Rank of each token by its bytes, one character a byte (latin1). A lower rank is merged first. */
export type ByteRanks = ReadonlyMap<string, number>;

const POSITIONS = 2 ** 24;

/**
 * The tokens of a piece of text as tiktoken finds them: the neighbours whose union has the lowest rank are merged,
 * leftmost first, until no union is a token. Takes n log n, so that a page without a space is no trap.
 */
export function mergeBytePairs(piece: string, ranks: ByteRanks): number[] {
  const whole = ranks.get(piece);
  if (whole !== undefined) return [whole];
  const parts = new Parts(piece, ranks);
  const candidates = new Heap();
  const consider = (start: number): void => {
    const rank = parts.rankOfPair(start);
    if (rank !== undefined) candidates.push(rank * POSITIONS + start);
  };
  for (let start = 0; start < piece.length; start++) consider(start);
  for (let best = candidates.pop(); best !== undefined; best = candidates.pop()) {
    const start = best % POSITIONS;
    // What was merged meanwhile has another rank, or begins no part any more.
    if (parts.rankOfPair(start) !== Math.floor(best / POSITIONS)) continue;
    const before = parts.merge(start);
    consider(start);
    if (before !== null) consider(before);
  }
  return parts.tokens();
}

/** A piece cut into parts, each known by where it starts. */
class Parts {
  private readonly ends: Int32Array;
  private readonly starts: Int32Array;

  constructor(
    private readonly piece: string,
    private readonly ranks: ByteRanks,
  ) {
    this.ends = Int32Array.from(piece, (_, index) => index + 1);
    /** By the end of a part, where it starts. */
    this.starts = Int32Array.from({ length: piece.length + 1 }, (_, end) => end - 1);
  }

  rankOfPair(start: number): number | undefined {
    const middle = this.ends[start] ?? 0;
    const end = this.ends[middle] ?? 0;
    return middle === 0 || end === 0 ? undefined : this.ranks.get(this.piece.slice(start, end));
  }

  /** Joins a part with the one behind it; returns where the part before starts. */
  merge(start: number): number | null {
    const middle = this.ends[start] ?? 0;
    const end = this.ends[middle] ?? 0;
    this.ends[start] = end;
    this.ends[middle] = 0;
    this.starts[end] = start;
    return start === 0 ? null : (this.starts[start] ?? null);
  }

  tokens(): number[] {
    const tokens: number[] = [];
    for (let start = 0; start < this.piece.length;) {
      const end = this.ends[start] ?? this.piece.length;
      tokens.push(this.ranks.get(this.piece.slice(start, end)) ?? 0);
      start = end;
    }
    return tokens;
  }
}

/** The smallest number comes first. */
class Heap {
  private readonly numbers: number[] = [];

  push(number: number): void {
    const { numbers } = this;
    let index = numbers.push(number) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.at(parent) <= number) break;
      numbers[index] = this.at(parent);
      index = parent;
    }
    numbers[index] = number;
  }

  pop(): number | undefined {
    const { numbers } = this;
    const first = numbers[0];
    const last = numbers.pop();
    if (last === undefined || numbers.length === 0) return first;
    let index = 0;
    for (let child = 1; child < numbers.length; child = 2 * index + 1) {
      const smaller = this.at(child + 1) < this.at(child) ? child + 1 : child;
      if (this.at(smaller) >= last) break;
      numbers[index] = this.at(smaller);
      index = smaller;
    }
    numbers[index] = last;
    return first;
  }

  private at(index: number): number {
    return this.numbers[index] ?? Number.POSITIVE_INFINITY;
  }
}
