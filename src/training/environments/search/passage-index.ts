export interface Passage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface FoundPassage {
  readonly passage: Passage;
  readonly score: number;
}

interface Posting {
  readonly passage: number;
  readonly count: number;
}

/** How soon a word that occurs again stops counting, and how much long passages are held back: Lucene's defaults. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
const WORD = /[\p{L}\p{N}]+/gu;

/** Passages found by their words (BM25, Robertson and Zaragoza 2009). In memory; the same query gives the same every time. */
export class PassageIndex {
  private readonly postings = new Map<string, Posting[]>();
  private readonly lengths: Float64Array;
  private readonly meanLength: number;

  constructor(private readonly passages: readonly Passage[]) {
    this.lengths = new Float64Array(passages.length);
    passages.forEach((passage, index) => {
      this.add(passage, index);
    });
    this.meanLength = this.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, passages.length);
  }

  get size(): number {
    return this.passages.length;
  }

  /** The best first; equal ones in the order of the corpus. None that shares no word with the query. */
  search(query: string, count: number): FoundPassage[] {
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(query))) this.addScores(word, scores);
    return [...scores]
      .sort(([left, leftScore], [right, rightScore]) => rightScore - leftScore || left - right)
      .slice(0, count)
      .flatMap(([index, score]) =>
        this.passages.slice(index, index + 1).map((passage) => ({ passage, score })),
      );
  }

  private add({ title, text }: Passage, index: number): void {
    const words = wordsOf(`${title} ${text}`);
    this.lengths[index] = words.length;
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) {
      const known = this.postings.get(word);
      if (known) known.push({ passage: index, count });
      else this.postings.set(word, [{ passage: index, count }]);
    }
  }

  private addScores(word: string, scores: Map<number, number>): void {
    const postings = this.postings.get(word) ?? [];
    const rarity = Math.log(1 + (this.size - postings.length + 0.5) / (postings.length + 0.5));
    for (const { passage, count } of postings) {
      const length = (this.lengths[passage] ?? 0) / this.meanLength;
      const held = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
      const score = (rarity * count * (SATURATION + 1)) / (count + held);
      scores.set(passage, (scores.get(passage) ?? 0) + score);
    }
  }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().normalize('NFKC').match(WORD) ?? [];
}
