import { createTokenizer } from '../../../../src/renderers/tokenizers/create-tokenizer';
import { thrownBy } from '../../stores/thrown-by';
import { byteTokenizerDefinition } from '../byte-tokenizer-files';

type Changes = Readonly<Record<string, unknown>>;

function made(changes: Changes) {
  const definition = { ...byteTokenizerDefinition(), ...changes };
  return createTokenizer({ definition, config: {}, chatTemplate: null, source: 'org/name' });
}

function model(changes: object): Changes {
  const { model: bytes } = byteTokenizerDefinition();
  return { model: { ...(typeof bytes === 'object' ? bytes : null), ...changes } };
}

function added(changes: object): Changes {
  return { added_tokens: [{ id: 300, content: '<x>', special: true, ...changes }] };
}

function replaced(pattern: string, content: string) {
  return { type: 'Replace', pattern: { String: pattern }, content };
}

function inside(depth: number): unknown {
  let step: unknown = { type: 'NFC' };
  for (let level = 0; level < depth; level++) step = { type: 'Sequence', normalizers: [step] };
  return step;
}

const doubling = (count: number, letter: string) =>
  Array.from({ length: count }, () => replaced(letter, letter.repeat(2)));
const LETTERS = { type: 'ByteLevel', add_prefix_space: false, use_regex: false };

test('a text does not grow without bounds by the steps of a normalizer', () => {
  const tokenizer = made({ normalizer: { type: 'Sequence', normalizers: doubling(12, 'Z') } });

  expect(() => tokenizer.encode('Z'.repeat(100))).toThrow(
    'The tokenizer of "org/name" cannot be read: field "normalizer" of its tokenizer.json makes more than 3000 characters of a text of 100. Use a model',
  );
});

test('nor by those that cut it, by a step alone, or by those of a decoder', () => {
  const cut = made({
    pre_tokenizer: { type: 'Sequence', pretokenizers: Array.from({ length: 8 }, () => LETTERS) },
  });
  const alone = made({ normalizer: replaced('', 'z'.repeat(32)) });
  const decoded = made({ decoder: { type: 'Sequence', decoders: doubling(12, 'a') } });

  expect(() => cut.encode('é'.repeat(100))).toThrow('field "pre_tokenizer" of its tokenizer.json makes');
  expect(() => alone.encode('a'.repeat(100))).toThrow('field "normalizer" of its tokenizer.json makes');
  expect(() => decoded.decode(Array.from({ length: 100 }, () => 97))).toThrow(
    'field "decoder" of its tokenizer.json makes',
  );
});

test('an added token that grows is refused where the tokenizer is made', () => {
  const normalizer = { type: 'Sequence', normalizers: doubling(12, 'a') };

  expect(() => made({ normalizer, ...added({ content: 'a', normalized: true }) })).toThrow(
    'field "normalizer" of its tokenizer.json makes more than 1020 characters of a text of 1.',
  );
});

test('what Unicode and SentencePiece make of a text is no such growth', () => {
  const normalizers = [{ type: 'NFKD' }, { type: 'Prepend', prepend: '▁' }, replaced(' ', '▁')];
  const tokenizer = made({ normalizer: { type: 'Sequence', normalizers } });

  expect(tokenizer.decode(tokenizer.encode('\u{FDFA}'.repeat(500))).length).toBeGreaterThan(9000);
});

test.each<[string, Changes, string]>([
  [
    'too many steps',
    { normalizer: { type: 'Sequence', normalizers: doubling(100, 'a') } },
    'normalizer" of its tokenizer.json has more than 100 steps',
  ],
  [
    'steps too deep',
    { normalizer: inside(5000) },
    'normalizer" of its tokenizer.json has steps more than 10',
  ],
  ['an unknown step', { normalizer: { type: '__proto__' } }, 'normalizer.type" of its tokenizer.json is'],
  [
    'steps that are no list',
    { pre_tokenizer: { type: 'Sequence', pretokenizers: 'x' } },
    'pre_tokenizer.pretokenizers" of its tokenizer.json is wrong',
  ],
  [
    'a step that is none',
    { decoder: { type: 'Sequence', decoders: [{ type: 'Fuse' }, null] } },
    'decoder.decoders.1" of its tokenizer.json has to be an object',
  ],
  ['pieces of no length', { pre_tokenizer: { type: 'FixedLength', length: 0 } }, 'pre_tokenizer.length"'],
  ['a pattern of nothing', { pre_tokenizer: { type: 'Split', pattern: 'x' } }, 'pre_tokenizer.pattern"'],
  ['much to write', { normalizer: replaced('a', 'b'.repeat(33)) }, 'normalizer.content"'],
  ['a reference to what was found', { normalizer: replaced('a', '$`') }, 'normalizer.content"'],
  [
    'a template without the text',
    { post_processor: { type: 'TemplateProcessing', single: [{ SpecialToken: { id: 'x', type_id: 0 } }] } },
    'post_processor.single" of its tokenizer.json is wrong: needs the sequence "A", and once',
  ],
  ['added tokens of null', { added_tokens: null }, 'added_tokens" of its tokenizer.json'],
  ['added tokens in an object', { added_tokens: { length: 1e9 } }, 'added_tokens" of its tokenizer.json'],
  ['an added token of null', { added_tokens: [null] }, 'added_tokens.0"'],
  ['a huge id', added({ id: 1e15 }), 'added_tokens.0.id"'],
  ['a negative id', added({ id: -1 }), 'added_tokens.0.id"'],
  ['a long added token', added({ content: 'a'.repeat(1001) }), 'added_tokens.0.content"'],
  ['no model', { model: null }, 'model" of its tokenizer.json'],
  ['merges in a text', model({ merges: 'abc' }), 'model.merges" of its tokenizer.json has to be a list'],
  [
    'merges of numbers',
    model({
      merges: [
        ['h', 'e'],
        [1, 2],
      ],
    }),
    'model.merges.1"',
  ],
  ['merges of one', model({ merges: ['h e', 'he'] }), 'model.merges.1"'],
  ['a word of a negative id', model({ vocab: { zzz: -5 } }), 'holds "zzz", whose id is no whole number'],
  ['a word of half an id', model({ vocab: { zzz: 1.5 } }), 'holds "zzz", whose id is no whole number'],
  ['a word of a huge id', model({ vocab: { zzz: 4294967294 } }), 'holds "zzz", whose id is no whole number'],
  ['words in a list', model({ vocab: ['a'] }), 'model.vocab" of its tokenizer.json has to be an object'],
  ['words without scores', model({ type: 'Unigram', vocab: [['a', 0], 'b'] }), 'model.vocab.1"'],
  ['an unknown word that is none', model({ type: 'Unigram', vocab: [['a', 0]], unk_id: 1 }), 'model.unk_id"'],
])('a tokenizer.json with %s is refused by its field', (_, changes, expected) => {
  const make = () => made(changes);

  expect(thrownBy(make)).toMatchObject({ code: 'unknown-model' });
  expect(make).toThrow('The tokenizer of "org/name" cannot be read: field "');
  expect(make).toThrow(expected);
});

test('fields that nothing reads may be anything', () => {
  const pair = { type: 'TemplateProcessing', single: [{ Sequence: { id: 'A', type_id: 0 } }], pair: 7 };

  expect(made({ version: {}, padding: [], post_processor: pair }).encode('he')).toEqual([256]);
});

test('fields of steps may be left out, and words may share an id', () => {
  const { model: bytes } = byteTokenizerDefinition();
  const definition = { model: { ...(typeof bytes === 'object' ? bytes : null), merges: [] } };
  const tokenizer = createTokenizer({ definition, config: {}, chatTemplate: null, source: 'org/name' });

  expect(tokenizer.encode('h').length).toBe(1);
  expect(() => made(model({ vocab: { a: 1, b: 1 }, merges: [] }))).not.toThrow();
});
