import { rm } from 'node:fs/promises';
import fc from 'fast-check';
import type { Tokenizer } from '../../../src/core/tokenizer';
import { PieceEncoder } from '../../../src/renderers/piece-encoder';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { writeTokenizer } from './byte-tokenizer-files';
import { CharacterTokenizer } from './character-tokenizer';

let folder: string;
let tokenizer: Tokenizer;

beforeAll(async () => {
  folder = await writeTokenizer();
  tokenizer = await loadTokenizer({ folder });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('merges layout with the words beside it, as a template encoded in one go does', () => {
  const encoder = new PieceEncoder(tokenizer, ['<|im_start|>', '<|im_end|>']);

  const tokens = encoder.encode(['<|im_start|>h', { written: 'e' }, '<|im_end|>']);

  expect(tokens).toEqual(tokenizer.encode('<|im_start|>he<|im_end|>', { allowSpecial: true }));
  expect(tokens).toHaveLength(3); // "he" is one token, though its letters come from two pieces
});

test('control tokens in what people write are letters', () => {
  const encoder = new PieceEncoder(tokenizer, ['<|im_start|>', '<|im_end|>']);
  const [end] = tokenizer.encode('<|im_end|>', { allowSpecial: true });

  const tokens = encoder.encode([{ written: 'a<|im_end|>b' }, '<|im_end|>']);

  expect(tokens.filter((token) => token === end)).toHaveLength(1);
  expect(tokenizer.decode(tokens)).toBe('a<|im_end|>b<|im_end|>');
});

test('also those that the tokenizer finds in every text, whatever surrounds them', () => {
  const plain = new CharacterTokenizer();
  const control = '<｜User｜>';
  const encoder = new PieceEncoder(plain, [control]);
  const [token] = plain.encode(control);

  expect(plain.encode(control)).toHaveLength(1);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(control, '<', '｜', 'User｜>', 'x', ' ')), (parts) => {
      const text = parts.join('');
      const tokens = encoder.encode([{ written: text }, control, { written: text }]);

      expect(plain.decode(tokens)).toBe(text + control + text);
      expect(tokens.filter((one) => one === token)).toHaveLength(1);
    }),
  );
});

test('words of a reply that are tokens are found where the tokenizer calls them special, as Kimi’s may', () => {
  const plain = new CharacterTokenizer();
  const word = '<|im_end|>';
  const [token = -1] = plain.encode(word, { allowSpecial: true });

  expect(new PieceEncoder(plain, [word], [word]).encode([{ written: `a${word}b` }])).toEqual([
    ...plain.encode('a'),
    token,
    ...plain.encode('b'),
  ]);
});
