import type { Tokenizer } from '../../../src/core/tokenizer';

const FIRST_SPECIAL = 0x110000;
const SPECIAL = [
  '<s>',
  '</s>',
  '<|bos|>',
  '<|eos|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|tool|>',
  '<|end|>',
  '<|pad|>',
  '<|begin_of_text|>',
  '<|start_header_id|>',
  '<|end_header_id|>',
  '<|eot_id|>',
  '<|im_start|>',
  '<|im_end|>',
  '<|im_system|>',
  '<|im_user|>',
  '<|im_assistant|>',
  '<|im_middle|>',
  '<|tool_calls_section_begin|>',
  '<|tool_calls_section_end|>',
  '<|tool_call_begin|>',
  '<|tool_call_end|>',
  '<|tool_call_argument_begin|>',
  '<|start|>',
  '<|channel|>',
  '<|message|>',
  '<|constrain|>',
  '<|return|>',
  '<|call|>',
  '<｜begin▁of▁sentence｜>',
  '<｜end▁of▁sentence｜>',
];
/** Found in every text, as added tokens are that a model does not call special. */
const ADDED = [
  '<think>',
  '</think>',
  '<｜User｜>',
  '<｜Assistant｜>',
  '<｜tool▁calls▁begin｜>',
  '<｜tool▁calls▁end｜>',
  '<｜tool▁call▁begin｜>',
  '<｜tool▁call▁end｜>',
  '<｜tool▁output▁begin｜>',
  '<｜tool▁output▁end｜>',
  '<｜tool▁sep｜>',
];
/** All tokens that are more than a letter. */
export const WORD_TOKENS: readonly string[] = [...SPECIAL, ...ADDED];
const FIRST_ADDED = FIRST_SPECIAL + SPECIAL.length;

/** One token a character, so that tokens read as text; special tokens are spelled out when decoded. */
export class CharacterTokenizer implements Tokenizer {
  readonly vocabSize = FIRST_ADDED + ADDED.length;
  readonly bosToken = '<s>';
  readonly eosToken = '</s>';
  readonly eosTokenId = FIRST_SPECIAL + 1;

  encode(text: string, options: { allowSpecial?: boolean } = {}): number[] {
    const tokens: number[] = [];
    for (let rest = text; rest.length > 0;) {
      const words = options.allowSpecial ? WORD_TOKENS : ADDED;
      const found = words.find((word) => rest.startsWith(word));
      const token = found === undefined ? (rest.codePointAt(0) ?? 0) : this.idOf(found);
      tokens.push(token);
      rest = rest.slice(this.decode([token]).length);
    }
    return tokens;
  }

  decode(tokens: readonly number[], options: { skipSpecial?: boolean } = {}): string {
    return tokens
      .map((token) => {
        if (token < FIRST_SPECIAL) return String.fromCodePoint(token);
        if (token >= FIRST_ADDED) return ADDED[token - FIRST_ADDED];
        return options.skipSpecial ? '' : SPECIAL[token - FIRST_SPECIAL];
      })
      .join('');
  }

  isSpecial(token: number): boolean {
    return token >= FIRST_SPECIAL && token < FIRST_ADDED;
  }

  private idOf(word: string): number {
    const special = SPECIAL.indexOf(word);
    return special < 0 ? FIRST_ADDED + ADDED.indexOf(word) : FIRST_SPECIAL + special;
  }
}

export interface Weighted {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}

/** `[text, weight]` for each stretch of equal weight. */
export function spansOf(tokenizer: Tokenizer, { tokens, weights }: Weighted): [string, number][] {
  expect(weights).toHaveLength(tokens.length);
  const spans: { tokens: number[]; weight: number }[] = [];
  tokens.forEach((token, index) => {
    const weight = weights[index] ?? Number.NaN;
    const last = spans.at(-1);
    if (last?.weight === weight) last.tokens.push(token);
    else spans.push({ tokens: [token], weight });
  });
  return spans.map((span) => [tokenizer.decode(span.tokens), span.weight]);
}
