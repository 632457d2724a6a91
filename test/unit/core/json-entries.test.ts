import { hasMoreEntriesThan } from '../../../src/core/json-entries';

test.each([
  [0, []],
  [3, [1, 'two', null]],
  [4, { a: [1, 2], b: {} }],
  [6, [{ a: { b: { c: [null] } } }, false]],
])('%d entries are in %j', (count, value) => {
  expect(hasMoreEntriesThan(value, count)).toBe(false);
  expect(hasMoreEntriesThan(value, count - 1)).toBe(true);
});
