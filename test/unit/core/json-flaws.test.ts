import fc from 'fast-check';
import { halfCharacterAt, repeatedKey } from '../../../src/core/json-flaws';

const keyOf = (text: string) => repeatedKey(text, JSON.parse(text));

test.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a" : 1, "a"\t: 2}', 'a'],
  ['{"x":{"b":1},"y":[{"b":1,"c":"\\":","b":3}]}', 'b'],
  ['{"é":1,"\\u00e9":2}', 'é'],
  ['{"a":1,"b":2}', null],
  ['{"a":{"a":{"a":1}}}', null],
  ['[{"a":1},{"a":2}]', null],
  ['{"text":"{\\"a\\":1,\\"a\\":2}"}', null],
  ['"a"', null],
])('of %s the key %j is there twice', (text, key) => {
  expect(keyOf(text)).toBe(key);
});

test('what is written from a value repeats no key, however it is spaced', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1), (value, indent) => {
      expect(keyOf(JSON.stringify(value, null, indent))).toBeNull();
    }),
  );
});

test('a key that is put in a second time is found', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (value) => {
      const [key = ''] = Object.keys(value);
      const text = JSON.stringify(value);
      expect(keyOf(`${text.slice(0, -1)},${JSON.stringify(key)}:null}`)).toBe(key);
    }),
  );
});

test('values nested deeper than calls can be are walked', () => {
  const text = `${'['.repeat(50_000)}{"a":1,"a":2}${']'.repeat(50_000)}`;

  expect(keyOf(text)).toBe('a');
});

test.each([
  ['"\\ud800"', ''],
  ['{"a":["y",{"b":"x\\udc00y"}]}', 'a[1].b'],
  ['[["\\ud800"]]', '[0][0]'],
  ['{"a":{"\\uD83D":1}}', 'a'],
  ['"\\ud83d\\ude00"', null],
  ['"😀 \\\\ud800"', null],
])('where %s has half of a character: %s', (text, path) => {
  expect(halfCharacterAt(text, JSON.parse(text))).toBe(path);
});
