/** Of a piece of work that turns texts into tokens. */
export interface EncodingLimits {
  /** More tokens than this are of no use. */
  readonly mostTokens?: number;
  /** What is beyond them is cut off anyway: a text that has more for certain loses its end. Else it is a `TooManyTokens`. */
  readonly isCutAllowed?: boolean;
  readonly signal?: AbortSignal;
}

/** Text ↔ tokens. `encode` adds no special tokens but recognises those spelled out in the text when asked to. */
export interface Tokenizer {
  encode(text: string, options?: { readonly allowSpecial?: boolean }): number[];
  decode(tokens: readonly number[], options?: { readonly skipSpecial?: boolean }): string;
  readonly vocabSize: number;
  readonly bosToken: string | null;
  readonly eosToken: string | null;
  readonly eosTokenId: number | null;
  isSpecial(token: number): boolean;
  /**
   * Does work that encodes texts without keeping others waiting: a large text is encoded beside the event loop, and many small ones in turns.
   * The work is done again for each turn, so it has to be pure and at once.
   */
  inTurns?<Result>(work: () => Result, limits?: EncodingLimits): Promise<Result>;
}

/** A text has more tokens than are of any use, told from its length alone. */
export class TooManyTokens extends Error {
  constructor(readonly leastTokens: number) {
    super(`The text has at least ${leastTokens} tokens.`);
  }
}

/** As the tokenizer does it; at once where it knows no turns. */
export async function inTurns<Result>(
  tokenizer: Tokenizer,
  work: () => Result,
  limits: EncodingLimits = {},
): Promise<Result> {
  return tokenizer.inTurns ? tokenizer.inTurns(work, limits) : work();
}
