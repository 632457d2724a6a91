import { isWrittenAsFloat, parseJson, writeJson } from '../../../src/core/whole-floats';

test('remembers which whole numbers were written as floats, wherever they stand', () => {
  const text = '{"a":[5.0,5,{"b":-1.0,"2":3.00,"s":"[7.0]"}],"c":1.5,"d":2.0}';
  const value = parseJson(text);

  expect(value).toEqual(JSON.parse(text));
  expect(writeJson(value)).toBe('{"a":[5.0,5,{"2":3.0,"b":-1.0,"s":"[7.0]"}],"c":1.5,"d":2.0}');
  const holder = typeof value === 'object' && value !== null ? value : {};
  expect(isWrittenAsFloat(holder, 'd')).toBe(true);
  expect(isWrittenAsFloat(holder, 'c')).toBe(false);
});

test.each(['null', '3', '"5.0"', '[]', '{"a":"1.0, "}', '[[[1]]]', '{"\\"":[1.0]}'])(
  'writes %s as it was',
  (text) => {
    expect(writeJson(parseJson(text))).toBe(text);
  },
);

test('text that is no JSON is refused as everywhere', () => {
  expect(() => parseJson('[1.0,')).toThrow('JSON');
});
