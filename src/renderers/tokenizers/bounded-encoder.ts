import { Tokenizer as HuggingFaceEncoder } from '@huggingface/tokenizers';
import type { Decoder, Normalizer, PreTokenizer } from '@huggingface/tokenizers';

type Json = Readonly<Record<string, unknown>>;
type Step<Value> = (value: Value, options?: object) => Value;

/** A character is written as eighteen at most by the forms of Unicode (UAX #15), and bytes take three letters. */
const MOST_GROWTH = 20;
const SPARE = 1000;
const NO_WORDS = { type: 'BPE', vocab: {}, merges: [] };

/** Steps of a `tokenizer.json` make more of a text than any honest ones. */
export class OvergrownText extends Error {}

/**
 * The library's encoder, whose steps make no more than twenty times as much of a text: forty replacements of "a" by "aa" would
 * take all memory. Throws an OvergrownText where they do, here already for an added token.
 */
export function createBoundedEncoder(definition: Json, config: Json): HuggingFaceEncoder {
  // The library normalizes added tokens while it is made, when its steps are not bounded yet.
  const bare = new HuggingFaceEncoder({ ...definition, model: NO_WORDS, added_tokens: [] }, config);
  boundSteps(bare);
  for (const content of contentsOf(definition['added_tokens'])) bare.normalizer?.normalize(content);
  const encoder = new HuggingFaceEncoder(definition, config);
  boundSteps(encoder);
  return encoder;
}

function contentsOf(added: unknown): readonly string[] {
  if (!Array.isArray(added)) return [];
  return added.flatMap((token: unknown) => {
    const isToken = typeof token === 'object' && token !== null && 'content' in token;
    return isToken && typeof token.content === 'string' ? [token.content] : [];
  });
}

function boundSteps({ normalizer, pre_tokenizer: splitter, decoder }: HuggingFaceEncoder): void {
  if (normalizer) {
    normalizer.normalize = bounded('normalizer', normalizing(normalizer), (text) => text.length);
  }
  if (splitter) {
    const split = bounded('pre_tokenizer', splitting(splitter), lengthOfAll);
    splitter.pre_tokenize_text = (text, options) => split([text], options);
  }
  if (decoder) decoder.decode_chain = bounded('decoder', decoding(decoder), lengthOfAll);
}

function normalizing(part: Normalizer): Step<string>[] {
  return part.normalizers?.flatMap(normalizing) ?? [part.normalize.bind(part)];
}

function splitting(part: PreTokenizer): Step<string[]>[] {
  if (part.tokenizers) return part.tokenizers.flatMap(splitting);
  const split = part.pre_tokenize_text.bind(part);
  return [(pieces, options) => pieces.flatMap((piece) => split(piece, options))];
}

function decoding(part: Decoder): Step<string[]>[] {
  return part.decoders?.flatMap(decoding) ?? [part.decode_chain.bind(part)];
}

/** One step after another. */
function bounded<Value>(
  field: string,
  steps: readonly Step<Value>[],
  lengthOf: (value: Value) => number,
): Step<Value> {
  return (given, options) => {
    const length = lengthOf(given);
    const most = MOST_GROWTH * length + SPARE;
    return steps.reduce((value, step) => {
      const next = step(value, options);
      if (lengthOf(next) <= most) return next;
      throw new OvergrownText(
        `field "${field}" of its tokenizer.json makes more than ${most} characters of a text of ${length}`,
      );
    }, given);
  };
}

/** Tokens that a vocabulary does not have are undefined. */
function lengthOfAll(texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
