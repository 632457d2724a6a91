import type { CountedRow } from '../core/data-summary';
import type { Tokenizer } from '../core/tokenizer';
import type { DatasetAccess } from './dataset-source';
import type { EnvironmentAccess } from './reinforcement/open-environments';

/** A row as the model reads it. */
export interface RenderedRow {
  readonly row: string;
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
  /** Stretches of its text that carry loss, and those between them. */
  readonly pieces: readonly { readonly text: string; readonly isTrained: boolean }[];
  readonly text: string;
  readonly cut: boolean;
  /** Tokens before it was cut. */
  readonly fullLength: number;
  /** Replies whose reasoning is not in the text. Absent where each has its own, and where the row is cut. */
  readonly repliesWithoutReasoning?: number;
  /** Replies with loss that say nothing, of which only the end is trained. Absent where there is none. */
  readonly emptyReplies?: number;
}

export interface RefusedRow {
  readonly row: string;
  readonly refused: string;
  /** Whose row it is, where it is none of those that are trained on: `held-out`, or the key of an evaluator. */
  readonly of?: string;
  /** The run begins without it. */
  readonly isLeftOut?: boolean;
  /** A prompt of an environment, which a run finds only when it comes to it. */
  readonly isMetLater?: boolean;
  /** Bad rows behind it that are not listed. */
  readonly others?: number;
}

/** How many rows are kept apart as the test set; comes last. */
export interface HeldOutRows {
  readonly heldOut: number;
}

export type DataRow = RenderedRow | RefusedRow;

export interface ShowAccess extends Pick<EnvironmentAccess, 'readBenchmarkRows' | 'loadPlugins'> {
  readonly datasets: DatasetAccess;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
  readonly dataFolder: string | undefined;
}

/** `FILE:LINE` of what a dataset calls `FILE line LINE`. */
export function shownPlace(place: string): string {
  return place.replace(/ (?:line|row) (\d+)$/, ':$1');
}

export function asShown(
  { tokens, weights, cut }: CountedRow,
  tokenizer: Tokenizer,
): Omit<RenderedRow, 'row' | 'fullLength' | 'repliesWithoutReasoning' | 'emptyReplies'> {
  const pieces: { text: string; isTrained: boolean }[] = [];
  for (let start = 0; start < tokens.length;) {
    const isTrained = (weights[start] ?? 0) > 0;
    let end = start + 1;
    while (end < tokens.length && (weights[end] ?? 0) > 0 === isTrained) end += 1;
    pieces.push({ text: tokenizer.decode(tokens.slice(start, end)), isTrained });
    start = end;
  }
  return { tokens, weights, pieces, text: tokenizer.decode(tokens), cut };
}
