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
];

/** One token a character, so that tokens read as text; special tokens are spelled out when decoded. */
export class CharacterTokenizer implements Tokenizer {
  readonly vocabSize = FIRST_SPECIAL + SPECIAL.length;
  readonly bosToken = '<s>';
  readonly eosToken = '</s>';
  readonly eosTokenId = FIRST_SPECIAL + 1;

  encode(text: string, options: { allowSpecial?: boolean } = {}): number[] {
    const tokens: number[] = [];
    for (let rest = text; rest.length > 0;) {
      const special = options.allowSpecial ? SPECIAL.findIndex((token) => rest.startsWith(token)) : -1;
      const token = special >= 0 ? FIRST_SPECIAL + special : (rest.codePointAt(0) ?? 0);
      tokens.push(token);
      rest = rest.slice(this.decode([token]).length);
    }
    return tokens;
  }

  decode(tokens: readonly number[], options: { skipSpecial?: boolean } = {}): string {
    return tokens
      .map((token) => {
        if (token < FIRST_SPECIAL) return String.fromCodePoint(token);
        return options.skipSpecial ? '' : SPECIAL[token - FIRST_SPECIAL];
      })
      .join('');
  }

  isSpecial(token: number): boolean {
    return token >= FIRST_SPECIAL;
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
