/** Text ↔ tokens. `encode` adds no special tokens but recognises those spelled out in the text when asked to. */
export interface Tokenizer {
  encode(text: string, options?: { readonly allowSpecial?: boolean }): number[];
  decode(tokens: readonly number[], options?: { readonly skipSpecial?: boolean }): string;
  readonly vocabSize: number;
  readonly bosToken: string | null;
  readonly eosToken: string | null;
  readonly eosTokenId: number | null;
  isSpecial(token: number): boolean;
}
