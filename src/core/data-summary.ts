/** What a run trains on, counted before it trains. */
export interface DataSummary {
  readonly rows: number;
  readonly tokens: number;
  /** Tokens that carry loss. The first of a row is never predicted. */
  readonly trainedTokens: number;
  /** Tokens of the longest row. */
  readonly longest: number;
  /** Rows of which no token carries loss. */
  readonly untrainedRows: number;
  /** Rows that lost tokens to `maxLength`. */
  readonly cutRows: number;
  readonly refusedRows: number;
  /** Rows of each pass that make no whole batch, and are left out of it. */
  readonly raggedRows: number;
}

export interface CountedRow {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
  readonly cut: boolean;
}

/** Counts rows one by one. */
export class DataTotals {
  private rows = 0;
  private tokens = 0;
  private trainedTokens = 0;
  private longest = 0;
  private untrainedRows = 0;
  private cutRows = 0;
  private refusedRows = 0;

  add({ tokens, weights, cut }: CountedRow): void {
    const trained = trainedCount(weights);
    this.rows += 1;
    this.tokens += tokens.length;
    this.trainedTokens += trained;
    this.longest = Math.max(this.longest, tokens.length);
    this.untrainedRows += Number(trained === 0);
    this.cutRows += Number(cut);
  }

  refuse(count = 1): void {
    this.refusedRows += count;
  }

  /** A pass smaller than a batch is one batch. */
  summary(batchSize: number): DataSummary {
    const { rows, tokens, trainedTokens, longest, untrainedRows, cutRows, refusedRows } = this;
    return {
      ...{ rows, tokens, trainedTokens, longest, untrainedRows, cutRows, refusedRows },
      raggedRows: rows < batchSize ? 0 : rows % batchSize,
    };
  }
}

export function trainedCount(weights: readonly number[]): number {
  return weights.reduce((count, weight, index) => count + Number(index > 0 && weight > 0), 0);
}

export function summaryText(summary: DataSummary): string {
  const { rows, tokens, trainedTokens, longest } = summary;
  const { untrainedRows, cutRows, refusedRows, raggedRows } = summary;
  const count = (value: number) => value.toLocaleString('en-US');
  return [
    `${count(rows)} rows`,
    `${count(tokens)} tokens, ${count(trainedTokens)} trained`,
    `longest ${count(longest)}`,
    `${count(untrainedRows)} rows that train nothing`,
    `${count(cutRows)} cut`,
    `${count(refusedRows)} refused`,
    `${count(raggedRows)} of a ragged last batch, left out of each pass`,
  ].join(' · ');
}
