import { parseVisibilityQuery, requireWholeQuery } from '../../../src/core/visibility-query';

const FACTS = {
  EverstepKind: 'sft',
  EverstepRun: 'sft-base-1',
  EverstepStep: 40,
  EverstepScore: 0.8125,
  StartTime: '2026-01-02T03:04:05.000Z',
  CloseTime: null,
};
const NAMES = Object.keys(FACTS);
const holds = (query: string) => parseVisibilityQuery(query, NAMES)(FACTS);

test.each([
  ['EverstepKind = "sft"', true],
  ["EverstepKind = 'rl'", false],
  ['EverstepKind != "rl" AND EverstepScore > 0.8', true],
  ['EverstepScore <= 8e-1', false],
  ['EverstepStep BETWEEN 40 AND 50', true],
  ['EverstepKind IN ("rl", "sft")', true],
  ['EverstepKind NOT IN ("rl", "sft")', false],
  ['EverstepRun STARTS_WITH "sft-"', true],
  ['EverstepRun NOT STARTS_WITH "sft-"', false],
  ['CloseTime IS NULL', true],
  ['StartTime IS NOT NULL', true],
  ['CloseTime > "2026-01-01T00:00:00Z"', false],
  ['StartTime >= "2026-01-02T04:04:05+01:00"', true],
  ['NOT (EverstepStep < 40 OR EverstepKind = "rl")', true],
  ['EverstepKind = "rl" AND EverstepStep = 1 OR EverstepStep = 40', true],
  ['EverstepKind = "rl" AND (EverstepStep = 1 OR EverstepStep = 40)', false],
  ['`EverstepStep` = 40 and everstep_is_not = 1', null],
  ['EverstepStep = ', null],
  ['EverstepStep = 40)', null],
  ['EverstepKind LIKE "s%"', null],
  ['EverstepKind = "sft', null],
])('%s', (query, expected) => {
  if (expected !== null) expect(holds(query)).toBe(expected);
  else expect(() => holds(query)).toThrow('cannot be read');
});

test('an unknown attribute is told with those that are known', () => {
  expect(() => holds('Everstepkind = "sft"')).toThrow(
    '"Everstepkind": did you mean EverstepKind? Known: EverstepKind',
  );
});

test.each([
  'EverstepStep >= 0) --',
  'EverstepStep >= 0) OR (EverstepStep = 1',
  'EverstepStep >= 0 --',
  'EverstepStep >= 0 # x',
  'EverstepStep >= 0 // x',
  'EverstepStep >= 0 /* x',
  'EverstepStep >= 0; x',
  '(EverstepStep >= 0',
  'EverstepRun = "a',
  "EverstepRun = 'a\\'",
  '`EverstepRun = 1',
])('%s does not stay within brackets', (query) => {
  expect(() => {
    requireWholeQuery(query);
  }).toThrow('cannot be read');
});

test.each([
  '(EverstepStep >= 0 OR (NOT EverstepScore < -1)) AND EverstepKind IN ("a", \'b\')',
  'EverstepRun = "a) --" AND EverstepRun != \'/* ; # "\'',
  'EverstepRun = "a\\") --" AND `(` = 1',
  "EverstepRun = 'it''s )'",
  'CloseTime IS NULL ORDER BY StartTime',
])('%s does', (query) => {
  expect(() => {
    requireWholeQuery(query);
  }).not.toThrow();
});
