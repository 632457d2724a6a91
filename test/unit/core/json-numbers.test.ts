import { numbersBeyondDoubles } from '../../../src/core/json-numbers';

test.each([
  '{"a": 0.10, "b": -0, "c": 1E5, "d": 1e-05, "e": 0.1e1, "f": -0.0, "g": 2.50e+2}',
  '{"id": 12345678901234567890, "text": "1e999 and 0.12345678901234567890123"}',
  '[0.30000000000000004, 5e-324, 1.7976931348623157e308]',
])('doubles hold every number of %s', (json) => {
  expect(numbersBeyondDoubles(json)).toEqual([]);
});

test('names numbers that are too large, too small, or have more digits than a double', () => {
  const json = '{"a": 1e999, "b": [-1E400, 1e-400], "c": 0.12345678901234567890, "d": 1.5}';

  expect(numbersBeyondDoubles(json)).toEqual(['1e999', '-1E400', '1e-400', '0.12345678901234567890']);
});
