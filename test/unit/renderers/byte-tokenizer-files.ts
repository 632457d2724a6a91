import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SPECIAL = [
  '<|bos|>',
  '<|eos|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|tool|>',
  '<|end|>',
  '<|im_start|>',
  '<|im_end|>',
];

/** GPT-2's printable stand-ins for the 256 bytes. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}

/** A `tokenizer.json` whose tokens are bytes, with one merge, special tokens and `<think>` as an ordinary added token. */
export function byteTokenizerDefinition(): Record<string, unknown> {
  const tokens = [...byteCharacters(), 'he'];
  const added = [
    ...SPECIAL.map((content) => ({ content, special: true })),
    { content: '<think>', special: false },
  ];
  return {
    version: '1.0',
    added_tokens: added.map((token, index) => ({
      id: tokens.length + index,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      ...token,
    })),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [['h', 'e']],
    },
  };
}

export async function writeTokenizer(files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'everstep-tokenizer-'));
  const all: Record<string, unknown> = { 'tokenizer.json': byteTokenizerDefinition(), ...files };
  for (const [name, content] of Object.entries(all)) {
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}
