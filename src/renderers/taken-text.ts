/** A stretch of a text. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Stretches of a text that words were found in, which no others may be found in. None of them overlaps another. */
export class TakenText {
  /** In their order. */
  private readonly stretches: Stretch[] = [];
  private readonly passed = new Map<string, number>();

  constructor(taken: readonly Stretch[]) {
    for (const each of taken) this.add(each);
  }

  /** `words`: what stands there, which was looked for from the beginning. */
  add(stretch: Stretch, words?: string): void {
    const { start, end } = stretch;
    if (words !== undefined) this.passed.set(words, end);
    if (start < end) this.stretches.splice(this.firstBehind(start), 0, stretch);
  }

  /** Up to where these words stand in nothing that is not taken; null where nobody looked for them. */
  passedBy(words: string): number | null {
    return this.passed.get(words) ?? null;
  }

  overlapping(start: number, end: number): Stretch | null {
    const first = this.stretches[this.firstBehind(start)];
    return first !== undefined && first.start < end ? first : null;
  }

  /** Where the last of them ends; 0 where there is none. */
  get end(): number {
    return this.stretches.at(-1)?.end ?? 0;
  }

  /** The first that ends behind a place. */
  private firstBehind(place: number): number {
    let [low, high] = [0, this.stretches.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.stretches[middle]?.end ?? 0) > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
