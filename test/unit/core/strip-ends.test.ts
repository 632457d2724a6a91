import { stripEnd, stripEnds, stripStart, withoutFullStop } from '../../../src/core/strip-ends';
import { textsBetween } from '../../../src/core/texts-between';

test.each([
  ['0120', '012', '12'],
  ['000', '', ''],
  ['', '', ''],
  ['1', '1', '1'],
])('of %j the zeros at the end, or at both, are left out', (text, withoutEnd, withoutEnds) => {
  expect(stripEnd(text, '0')).toBe(withoutEnd);
  expect(stripEnds(text, '0')).toBe(withoutEnds);
});

test('halves of a character outside the first plane stay together', () => {
  const [one, other] = ['😀', '😁'];
  expect(stripEnd(`a${one}${one}`, one)).toBe('a');
  expect(stripEnds(`${other}a${other}`, one)).toBe(`${other}a${other}`);
  expect(stripStart(`${one}${other}`, one)).toBe(other);
});

test('a sentence goes on behind words without their full stop', () => {
  expect(withoutFullStop('It is full. \n')).toBe('It is full');
  expect(withoutFullStop('e.g. this')).toBe('e.g. this');
});

test.each([
  ['<a>1</a> <a>2</a>', ['1', '2']],
  ['<a>1<a>2</a></a>', ['1<a>2']],
  ['<a>1', []],
  ['</a><a></a>', ['']],
])('what stands between marks in %j is as an expression finds it', (text, expected) => {
  expect(textsBetween(text, '<a>', '</a>')).toEqual(expected);
  expect([...text.matchAll(/<a>([^]*?)<\/a>/g)].map((match) => match[1])).toEqual(expected);
});
