import { longestTokenOf } from '../../../../src/renderers/tokenizers/longest-token';
import { byteTokenizerDefinition } from '../byte-tokenizer-files';

const LONGEST = '<|assistant|>'.length;

function longest(changes: object, config: Record<string, unknown> = {}) {
  return longestTokenOf({
    definition: { ...byteTokenizerDefinition(), ...changes },
    config,
  });
}

function model(changes: object) {
  const { model: bytes } = byteTokenizerDefinition();
  return { model: { ...(typeof bytes === 'object' ? bytes : null), ...changes } };
}

const REGEX = { Regex: '\\p{L}+' };
const BYTES = { type: 'ByteLevel' };

test.each([
  ['tokens of bytes', {}, LONGEST],
  ['Unicode composed', { normalizer: { type: 'NFC' } }, 8 * LONGEST],
  [
    'spaces written otherwise',
    { normalizer: { type: 'Replace', pattern: { String: ' ' }, content: '▁' } },
    LONGEST,
  ],
  [
    'a splitter that keeps all',
    {
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [{ type: 'Split', pattern: REGEX, behavior: 'Isolated' }, BYTES],
      },
    },
    LONGEST,
  ],
  ['a longer word', model({ vocab: { [' '.repeat(100)]: 0 } }), 100],
])('tells how much text a token of a tokenizer with %s stands for', (_, changes, expected) => {
  expect(longest(changes)).toBe(expected);
});

test.each([
  ['another model', model({ type: 'Unigram' })],
  ['unknown characters', { pre_tokenizer: { type: 'Digits' } }],
  ['text left out', { normalizer: { type: 'Strip' } }],
  ['text written shorter', { normalizer: { type: 'Replace', pattern: { String: '  ' }, content: ' ' } }],
  ['text replaced by a pattern', { normalizer: { type: 'Replace', pattern: { Regex: ' +' }, content: ' ' } }],
  ['words alone', { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Whitespace' }, BYTES] } }],
  [
    'what a pattern finds',
    {
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [{ type: 'Split', pattern: REGEX, invert: true }, BYTES],
      },
    },
  ],
  ['a token that takes spaces along', { added_tokens: [{ content: '<mask>', lstrip: true }] }],
  ['texts cut', { truncation: { max_length: 512 } }],
])('does not claim to know for a tokenizer with %s', (_, changes) => {
  expect(longest(changes)).toBeNull();
});

test('does not claim to know where spaces are left out', () => {
  expect(longest({}, { remove_space: true })).toBeNull();
});
