import fc from 'fast-check';
import { finish } from '../../../src/core/concurrency/steps';
import { parseJsonInPieces } from '../../../src/core/parse-json-in-pieces';

/** Order of keys and own members of any name included. */
function outcomeOf(parse: () => unknown): string {
  try {
    return `value ${JSON.stringify(parse())}`;
  } catch (error) {
    return error instanceof SyntaxError ? 'no JSON' : `unexpected ${String(error)}`;
  }
}

const inPieces = (text: string, piece: number) => outcomeOf(() => finish(parseJsonInPieces(text, piece)));
const atOnce = (text: string) => outcomeOf(() => JSON.parse(text));

const PIECES = [0, 1, 2, 3, 7, 20];

test('any value is the same as parsed at once, with blanks or without', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom('', ' ', '\n\t'), (value, space) => {
      const text = `${space}${JSON.stringify(value, null, space)}${space}`;
      for (const piece of PIECES) expect(inPieces(text, piece)).toBe(atOnce(text));
    }),
    { seed: 1, numRuns: 150 },
  );
});

test('a text of JSON characters in any order is taken where it is JSON', () => {
  const part = fc.constantFrom(
    ...[
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      ' ',
      '"',
      '\\',
      '"a"',
      '"a":',
      '1',
      '-',
      'null',
      '[]',
      '{}',
      '"__proto__":',
    ],
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      for (const text of [parts.join(''), `[${parts.join('')}]`, `{"k":${parts.join('')}}`])
        for (const piece of PIECES)
          expect(`${text} ${inPieces(text, piece)}`).toBe(`${text} ${atOnce(text)}`);
    }),
    { seed: 2, numRuns: 2000 },
  );
});

test.each([
  '[1,2,]',
  '[,1]',
  '[1,,2]',
  '[[1],]',
  '[[1]2]',
  '[1[2]]',
  '{"a":1[2]}',
  '{"a":[1}',
  '{"a":[1]]',
  '{"a":[1],}',
  '{"a":[1] "b":2}',
  '{[1]}',
  '{"a"[1]}',
  '[[1]',
  '[[1]] 2',
  '["[", "]", "\\"]"',
])('%s is none', (text) => {
  for (const piece of PIECES) expect(inPieces(text, piece)).toBe('no JSON');
});

test.each([
  '{"a":[1],"a":[2],"b":1,"a":3}',
  '{"b":[1],"2":[2],"1":[3],"a":[]}',
  '{"__proto__":[1,2],"x":[1]}',
  '{"a":[[],[[]],{},{"b":{}}] , "c":"]}"}',
  ' [ [ ] , { } , [ [ 1 , 2 ] ] ] ',
])('%s is the same', (text) => {
  for (const piece of PIECES) expect(inPieces(text, piece)).toBe(atOnce(text));
});

test('what lies too deep to be cut is parsed whole, and none of it ends nowhere', () => {
  const deep = `${'['.repeat(5000)}1${']'.repeat(5000)}`;

  expect(inPieces(deep, 10)).toBe(atOnce(deep));
  expect(inPieces('['.repeat(5000), 10)).toBe('no JSON');
});

test('no step takes more than its piece of a long list, wherever it lies', () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => index);
  const text = JSON.stringify({ input: { data: [{ tokens: numbers }, { tokens: numbers }] }, seq: 1 });
  const lengths: number[] = [];
  const parse = jest.spyOn(JSON, 'parse').mockImplementation((part: string) => {
    lengths.push(part.length);
    return whole(part);
  });
  const steps = parseJsonInPieces(text, 500);
  const counts: number[] = [];
  let step = steps.next();
  for (; !step.done; step = steps.next()) counts.push(lengths.splice(0).reduce((sum, each) => sum + each, 0));
  parse.mockRestore();

  expect(step.value).toEqual(JSON.parse(text));
  expect(counts.length).toBeGreaterThan(text.length / 600);
  expect(Math.max(...counts)).toBeLessThan(600);
});

const whole: (text: string) => unknown = JSON.parse.bind(JSON);
