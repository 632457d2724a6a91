/** The tokenizer of `everstep/tiny`: one token a byte, and one for each mark of a conversation. */

export const SPECIAL_TOKENS = [
  '<|pad|>',
  '<|bos|>',
  '<|eos|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|end|>',
  // Makes the vocabulary a multiple of 8.
  '<|reserved|>',
] as const;

export const VOCAB_SIZE = SPECIAL_TOKENS.length + 256;

const CHAT_TEMPLATE =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

export function specialId(token: (typeof SPECIAL_TOKENS)[number]): number {
  return SPECIAL_TOKENS.indexOf(token);
}

export function encodeText(text: string): number[] {
  return Array.from(Buffer.from(text), (byte) => byte + SPECIAL_TOKENS.length);
}

/** The printable stand-ins byte-level tokenizers have used for bytes since GPT-2. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

export function tokenizerJson(): object {
  const addedTokens = SPECIAL_TOKENS.map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  const tokens = [...SPECIAL_TOKENS, ...byteCharacters()];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens,
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
}

export function tokenizerConfig(contextLength: number): object {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: '<|bos|>',
    eos_token: '<|eos|>',
    pad_token: '<|pad|>',
    additional_special_tokens: ['<|system|>', '<|user|>', '<|assistant|>', '<|end|>'],
    add_bos_token: false,
    clean_up_tokenization_spaces: false,
    model_max_length: contextLength,
    chat_template: CHAT_TEMPLATE,
  };
}
