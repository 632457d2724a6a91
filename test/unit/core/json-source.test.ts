import { jsonText, parseJsonWithSource, rememberSource } from '../../../src/core/json-source';

test.each([
  '{"id":9007199254740993}',
  '{"ratio":2.0,"deep":{"eps":1e-05}}',
  '{"far":1e999,"zero":-0}',
  '{"b":1,"0":"z","a":[{"10":1,"9":2}]}',
  '{"plain":[true,null,"text"]}',
])('keeps %s as it was written', (json) => {
  expect(jsonText(parseJsonWithSource(json))).toBe(json);
});

test('keeps it in an object that is put into another, and takes the space between out', () => {
  const schema = parseJsonWithSource('{ "default": 1.0,\n "max": 1e5 }');

  expect(jsonText({ type: 'function', schema, missing: undefined })).toBe(
    '{"type":"function","schema":{"default":1.0,"max":1e5}}',
  );
});

test('writes the text that an object was given', () => {
  const value = { id: 1 };
  rememberSource(value, '{"id":9007199254740993}');

  expect(jsonText([value])).toBe('[{"id":9007199254740993}]');
});

test('escapes of a file’s texts are the characters they stand for, whatever stands beside them', () => {
  const json = String.raw`{"name": "caf\u00e9 \/", "caf\u00e9": 1.50, "line": "a\nb\u0001"}`;

  expect(jsonText(parseJsonWithSource(json))).toBe(
    String.raw`{"name":"café /","café":1.50,"line":"a\nb\u0001"}`,
  );
});

test('keeps what is nested a hundred thousand deep', () => {
  const json = `${'['.repeat(100_000)}1.0,1e999${']'.repeat(100_000)}`;

  expect(jsonText(parseJsonWithSource(json))).toBe(json);
});
