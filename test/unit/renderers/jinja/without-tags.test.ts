import { withoutTags } from '../../../../src/renderers/jinja/without-tags';

const EXPRESSION = /<!--.*?-->|<[^>]*>/gs;

test.each([
  '<a href="x">b</a>',
  'a < b > c',
  'a <!-- <b> --> c',
  'a <!-- b > c',
  'a <!-- b --> c <!-- d > e',
  '<!--> a -->',
  '<!-- a <b',
  '<<a>>',
  '',
])('of %j what an expression finds is left out', (text) => {
  expect(withoutTags(text)).toBe(text.replace(EXPRESSION, ''));
});

test.each([
  ['tags', '<'],
  ['comments', '<!--'],
])('half a million openings of %s are no work', (_, opening) => {
  const text = opening.repeat(500_000);
  expect(withoutTags(text)).toBe(text);
});
