import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Tokenizer as HuggingFaceEncoder } from '@huggingface/tokenizers';
import { createRandom } from '../../../../src/core/random';
import { mergeRanks } from '../../../../src/renderers/tokenizers/merge-ranks';
import { createPieceEncoder, withAddedTokens } from '../../../../src/renderers/tokenizers/piece-encoder';
import { realModel, realModelsFolder } from '../real-models';

interface Definition {
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
  readonly added_tokens: readonly {
    readonly id: number;
    readonly content: string;
    readonly special: boolean;
  }[];
}

afterAll(() => {
  const folder = realModelsFolder();
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});

/** Pages of the documents, and what tokenizers stumble over, in a seeded order. */
function texts(): string[] {
  const folder = path.join(__dirname, '../../../../docs');
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));
  const random = createRandom(11);
  const odd = [
    '▁',
    '>▁</',
    '> </',
    '  ',
    '\n\n',
    '\t',
    'é',
    'e\u0301',
    '你好',
    '👩‍👩‍👧',
    '\u0000',
    'a▁b',
    '>  <',
    "don't",
    '1234',
    '<eos>',
    'ÀÉ',
    ' ',
  ];
  const mixed = Array.from({ length: 400 }, () =>
    Array.from({ length: 12 }, () => odd[Math.floor(random() * odd.length)] ?? '').join(''),
  );
  return [
    ...pages.slice(0, 6).map((page) => readFileSync(path.join(folder, page), 'utf8').slice(0, 8000)),
    ...mixed,
  ];
}

describe.each(['gemma-3-4b-it', 'Meta-Llama-3-8B-Instruct'])('of %s', (name) => {
  const folder = realModel(name)?.folder ?? '';
  const read = (file: string) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as object;
  const definition = read('tokenizer.json') as Definition & Record<string, unknown>;
  const config = read('tokenizer_config.json') as Record<string, unknown>;
  const options = { add_special_tokens: false };
  let made: HuggingFaceEncoder | null = null;
  const encoderOf = () => (made ??= createPieceEncoder(definition, config));

  afterAll(() => {
    made = null;
  });

  test('a text has the tokens that the library finds, the first time and again', () => {
    const library = new HuggingFaceEncoder(definition, config);
    const encoder = encoderOf();
    const wanted = texts().map((text) => ({ text, ids: library.encode(text, options).ids }));

    for (const { text, ids } of [...wanted, ...wanted])
      expect(encoder.encode(text, options).ids).toEqual(ids);
  });

  test('what is no added token any more is plain text, with one vocabulary for both', () => {
    const kept = definition.added_tokens.filter(({ special }) => !special);
    const left = definition.added_tokens.filter(({ special }) => special);
    const library = new HuggingFaceEncoder({ ...definition, added_tokens: kept }, config);
    const encoder = encoderOf();
    const plain = withAddedTokens(encoder, {
      definition,
      config,
      kept,
      left: left.map(({ content }) => content),
    });

    expect(plain?.model).toBe(encoder.model);
    const written = left.map(({ content }) => `a${content} ${content}`);
    for (const text of [...texts(), ...written])
      expect(plain?.encode(text, options).ids).toEqual(library.encode(text, options).ids);
  });
});

test('an added token whose text is a piece of its own is not left out by leaving out its name', () => {
  const definition = {
    model: { type: 'BPE', vocab: { a: 0, b: 1, ab: 2 }, merges: [['a', 'b']], ignore_merges: true },
    added_tokens: [{ id: 2, content: 'ab', special: true }],
    ...{ normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null },
  };
  const encoder = createPieceEncoder(definition, {});

  expect(withAddedTokens(encoder, { definition, config: {}, kept: [], left: ['ab'] })).toBeNull();
});

test.each<[string, readonly unknown[], boolean]>([
  ['pairs in texts', ['a b', 'ab c'], true],
  [
    'pairs in lists',
    [
      ['a', 'b'],
      ['ab', 'c'],
    ],
    true,
  ],
  [
    'a part with a space of its own',
    [
      ['a', 'b'],
      [' ', 'c'],
      ['ab', ' c'],
    ],
    false,
  ],
  ['a text with two spaces', ['a b', 'ab c d'], false],
])('merges of %s are those of the library', (_, merges, isRead) => {
  const tokens = ['a', 'b', 'c', ' ', 'ab', 'abc', ' c', 'ab c'];
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const definition = {
    model: { type: 'BPE', vocab, merges },
    added_tokens: [],
    ...{ normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null },
  };
  const library = new HuggingFaceEncoder(definition, {});
  const encoder = createPieceEncoder(definition, {});

  expect(mergeRanks(merges) !== null).toBe(isRead);
  for (const text of ['abc', 'ab c', 'cab', 'aabbc', ' cab c'])
    expect(encoder.encode(text).ids).toEqual(library.encode(text).ids);
  expect(encoder.encode('ab').ids).toEqual([4]);
});
