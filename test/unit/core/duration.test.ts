import { durationText, secondsOf } from '../../../src/core/duration';

test.each([
  ['90s', 90],
  ['30m', 1800],
  ['1.5h', 5400],
  ['2d', 172_800],
  ['15', 15],
  ['0s', null],
  ['-1h', null],
  ['6 h', null],
  ['1w', null],
  ['', null],
  ['1e9h', null],
])('%s is %s seconds', (text, expected) => {
  expect(secondsOf(text)).toBe(expected);
});

test.each([
  [21_600, '6h'],
  [90, '90s'],
  [86_400, '1d'],
  [5400, '90m'],
  [0.5, '0.5s'],
])('%s seconds are written %s', (seconds, expected) => {
  expect(durationText(seconds)).toBe(expected);
});
