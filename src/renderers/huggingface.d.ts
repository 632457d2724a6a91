/** The package's own declarations import without file extensions, which Node's module resolution cannot follow. */
declare module '@huggingface/tokenizers' {
  export interface TokenizerModel {
    readonly vocab: readonly string[];
    encode: (pieces: readonly string[]) => string[];
  }
  export interface Normalizer {
    readonly normalizers?: readonly Normalizer[];
    normalize: (text: string) => string;
  }
  export interface PreTokenizer {
    readonly tokenizers?: readonly PreTokenizer[];
    pre_tokenize: (text: string) => string[];
    pre_tokenize_text: (text: string, options?: object) => string[];
  }
  export interface Decoder {
    readonly decoders?: readonly Decoder[];
    decode_chain: (tokens: string[]) => string[];
  }
  export class Tokenizer {
    constructor(definition: object, config: object);
    model: TokenizerModel | null;
    readonly normalizer: Normalizer | null;
    readonly pre_tokenizer: PreTokenizer | null;
    readonly decoder: Decoder | null;
    tokenize(text: string): string[];
    encode(text: string, options?: { add_special_tokens?: boolean }): { ids: (number | undefined)[] };
    decode(
      ids: number[],
      options?: { skip_special_tokens?: boolean; clean_up_tokenization_spaces?: boolean },
    ): string;
    token_to_id(token: string): number | undefined;
    get_vocab(withAddedTokens?: boolean): Map<string, number>;
  }
}
