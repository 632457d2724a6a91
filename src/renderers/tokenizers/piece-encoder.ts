import { Tokenizer as HuggingFaceEncoder } from '@huggingface/tokenizers';
import { createBoundedEncoder } from './bounded-encoder';
import { mergeRanks, useMergeRanks } from './merge-ranks';

type Json = Readonly<Record<string, unknown>>;

/** Pieces whose tokens are kept: most of what is written in a language is written with fewer. */
const MOST_KNOWN = 50_000;
const LONGEST_KNOWN = 64;

/**
 * The library's encoder, which finds the tokens of a piece (mostly a word) once: a piece is mapped to letters for its bytes and merged
 * when it is first met, and looked up from then on. Tokens are the library's own; half of the time is saved on ordinary text.
 */
export function createPieceEncoder(definition: Json, config: Json): HuggingFaceEncoder {
  if (!isBytePairs(definition)) return createBoundedEncoder(definition, config);
  const { others, byteLevel } = withoutByteLevel(definition['pre_tokenizer']);
  const ranks = mergeRanks(new Map<string, unknown>(Object.entries(definition.model)).get('merges'));
  const read = ranks ? { ...definition.model, merges: [] } : definition.model;
  const encoder = createBoundedEncoder({ ...definition, model: read, pre_tokenizer: others }, config);
  const { model } = encoder;
  if (model === null) return encoder;
  if (ranks) useMergeRanks(model, ranks);
  const letters = byteLevel && preTokenizerOf(byteLevel);
  const cut = byteLevel ? null : wordBoundary(definition.model);
  const merge = model.encode.bind(model);
  const known = new Map<string, readonly string[]>();
  const tokensOf = (piece: string): readonly string[] => {
    const found = known.get(piece);
    if (found) return found;
    const tokens = merge(letters ? letters.pre_tokenize(piece) : [piece]);
    if (piece.length > LONGEST_KNOWN) return tokens;
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(piece, tokens);
    return tokens;
  };
  model.encode = (pieces) => (cut ? pieces.flatMap((piece) => piece.split(cut)) : pieces).flatMap(tokensOf);
  return encoder;
}

/** Writes a space in vocabularies of SentencePiece. */
const SPACE = '▁';
const ACROSS = /([^▁])▁/gu;
const MOST_ACROSS = 100;
/** With these a piece has other tokens than its parts. */
const ALTERING = ['ignore_merges', 'end_of_word_suffix', 'continuing_subword_suffix'];

/**
 * Where a text may be cut without a change of its tokens: before a space that no token joins to the character before it. What is merged
 * is a token, so nothing is merged across, and what is merged on one side changes nothing on the other. Null where it cannot be told.
 */
function wordBoundary(model: object): RegExp | null {
  const { vocab }: { vocab: object } = { vocab: {}, ...model };
  if (!(SPACE in vocab) || ALTERING.some((option) => isSet(model, option))) return null;
  const joined = new Set(
    Object.keys(vocab).flatMap((token) => [...token.matchAll(ACROSS)].map(([, before = '']) => before)),
  );
  if (joined.size > MOST_ACROSS) return null;
  const letters = [SPACE, ...joined].map((letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`);
  return new RegExp(`(?<![${letters.join('')}])(?=${SPACE})`, 'u');
}

/**
 * The same encoder with fewer added tokens. Vocabulary and merges are shared, which take most of the time to read and of the
 * memory; null where a token that is left out would still be found, because its text is a piece.
 */
export function withAddedTokens(
  encoder: HuggingFaceEncoder,
  {
    definition,
    config,
    kept,
    left,
  }: { definition: Json; config: Json; kept: readonly object[]; left: readonly string[] },
): HuggingFaceEncoder | null {
  if (!isBytePairs(definition)) return null;
  const { others } = withoutByteLevel(definition['pre_tokenizer']);
  const model = { ...definition.model, vocab: {}, merges: [] };
  const plain = createBoundedEncoder(
    { ...definition, model, pre_tokenizer: others, added_tokens: kept },
    config,
  );
  plain.model = encoder.model;
  const isFound = (text: string) => plain.tokenize(text).includes(text);
  return left.some(isFound) ? null : plain;
}

function isSet(model: object, option: string): boolean {
  return Boolean(new Map<string, unknown>(Object.entries(model)).get(option));
}

function isBytePairs(definition: Json): definition is Json & { readonly model: object } {
  const { model } = definition;
  return typeof model === 'object' && model !== null && 'type' in model && model.type === 'BPE';
}

/** What cuts a text into pieces, and what then writes letters for their bytes, if both are there. */
function withoutByteLevel(preTokenizer: unknown): {
  readonly others: unknown;
  readonly byteLevel: object | null;
} {
  const steps = stepsOf(preTokenizer);
  const last: unknown = steps.at(-1);
  if (steps.length < 2 || !isByteLevelAlone(last)) return { others: preTokenizer, byteLevel: null };
  return { others: { type: 'Sequence', pretokenizers: steps.slice(0, -1) }, byteLevel: last };
}

function stepsOf(preTokenizer: unknown): readonly unknown[] {
  if (typeof preTokenizer !== 'object' || preTokenizer === null) return [];
  const steps: unknown = 'pretokenizers' in preTokenizer ? preTokenizer.pretokenizers : [];
  return Array.isArray(steps) ? steps : [];
}

/** Neither cuts nor adds. */
function isByteLevelAlone(step: unknown): step is object {
  if (typeof step !== 'object' || step === null) return false;
  const { type, use_regex, add_prefix_space } = {
    type: '',
    use_regex: true,
    add_prefix_space: false,
    ...step,
  };
  return type === 'ByteLevel' && !use_regex && !add_prefix_space;
}

/** Alone, with a model that has nothing. */
function preTokenizerOf(step: object) {
  const nothing = { model: { type: 'BPE', vocab: {}, merges: [] }, pre_tokenizer: step, added_tokens: [] };
  return new HuggingFaceEncoder({ ...nothing, normalizer: null, post_processor: null, decoder: null }, {})
    .pre_tokenizer;
}
