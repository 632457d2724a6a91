import { smallestOf } from '../../core/extremes';
import type { SampledSequence } from '../../core/sampling';
import type { Tokenizer } from '../../core/tokenizer';

export interface CutTokens {
  /** Without the token or the text that ended the completion. */
  readonly tokens: readonly number[];
  /** What of the next token's text comes before the stop. */
  readonly rest: string;
  /** A stop text was found. */
  readonly isCut: boolean;
  /** The token that ended the completion; null where a text or a limit did. */
  readonly endToken: number | null;
}

interface CutOptions {
  readonly stops: readonly string[];
  readonly tokenizer: Tokenizer;
}

/** Takes off what ended a completion: a special token, or the first of the stop texts and all after it. */
export function cutAtStop(
  { tokens: drawn, stopReason }: Pick<SampledSequence, 'tokens' | 'stopReason'>,
  { stops, tokenizer }: CutOptions,
): CutTokens {
  const last = drawn.at(-1);
  const endToken = stopReason === 'stop' && last !== undefined && tokenizer.isSpecial(last) ? last : null;
  const tokens = endToken === null ? drawn : drawn.slice(0, -1);
  const text = stops.length === 0 ? '' : tokenizer.decode(tokens);
  const cuts = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0);
  if (cuts.length === 0) return { tokens, rest: '', isCut: false, endToken };
  const kept = text.slice(0, smallestOf(cuts));
  const count = tokensWithin(tokens, kept, tokenizer);
  const whole = tokens.slice(0, count);
  return { tokens: whole, rest: kept.slice(tokenizer.decode(whole).length), isCut: true, endToken: null };
}

/** How many tokens the text holds in whole. */
function tokensWithin(tokens: readonly number[], text: string, tokenizer: Tokenizer): number {
  let [low, high] = [0, tokens.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (tokenizer.decode(tokens.slice(0, middle)).length <= text.length) low = middle;
    else high = middle - 1;
  }
  // A token of a character's first bytes decodes to something else than the character.
  while (low > 0 && !text.startsWith(tokenizer.decode(tokens.slice(0, low)))) low -= 1;
  return low;
}
