import type { Tokenizer } from '../../../../src/core/tokenizer';
import { cutAtStop } from '../../../../src/server/gateway/stop-texts';

/** Each token is a piece of two characters; 0 is special. */
const PIECES = ['<|end|>', 'ab', 'cd', 'ef', '\n\n'];
const tokenizer: Tokenizer = {
  encode: () => [],
  decode: (tokens) => tokens.map((token) => PIECES[token] ?? '?').join(''),
  vocabSize: PIECES.length,
  bosToken: null,
  eosToken: '<|end|>',
  eosTokenId: 0,
  isSpecial: (token) => token === 0,
};

const cut = (tokens: number[], stops: string[], stopReason: 'stop' | 'length' = 'stop') =>
  cutAtStop({ tokens, stopReason }, { stops, tokenizer });

test.each([
  { says: 'nothing to cut', tokens: [1, 2], stops: [], kept: [1, 2], rest: '', isCut: false },
  { says: 'a stop between tokens', tokens: [1, 2, 3], stops: ['cd'], kept: [1], rest: '', isCut: true },
  { says: 'a stop within a token', tokens: [1, 2, 3], stops: ['d'], kept: [1], rest: 'c', isCut: true },
  { says: 'a stop across tokens', tokens: [1, 2, 3], stops: ['de'], kept: [1], rest: 'c', isCut: true },
  { says: 'the first of several', tokens: [1, 2, 3], stops: ['f', 'b'], kept: [], rest: 'a', isCut: true },
  { says: 'a stop at the very start', tokens: [1, 2], stops: ['a'], kept: [], rest: '', isCut: true },
  { says: 'a stop that does not come', tokens: [1, 2], stops: ['x'], kept: [1, 2], rest: '', isCut: false },
])('$says', ({ tokens, stops, kept, rest, isCut }) => {
  expect(cut(tokens, stops)).toMatchObject({ tokens: kept, rest, isCut });
});

test('takes the special token that ended the completion off, and remembers it', () => {
  expect(cut([1, 0], [])).toEqual({ tokens: [1], rest: '', isCut: false, endToken: 0 });
});

test('keeps a special token where the completion was cut off by its length', () => {
  expect(cut([1, 0], [], 'length')).toEqual({ tokens: [1, 0], rest: '', isCut: false, endToken: null });
});
